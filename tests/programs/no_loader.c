/* A program that the loader does not start: it loads no libraries. It is looked at, and never run.
 */
void _start(void);
void _start(void)
{
    for (;;)
        ;
}
