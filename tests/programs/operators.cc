// Every operator new and delete of C++, for a test of `tapool record`. Sizes are odd.
#include <cstdlib>
#include <new>

// What the handler for want of memory frees: once.
static void *reserve;

static void give_up_reserve()
{
    std::free(reserve);
    std::set_new_handler(nullptr);
}

struct alignas(128) wide {
    char bytes[128];
};

int main()
{
    const std::align_val_t align{64};
    ::operator delete(::operator new(101));
    ::operator delete(::operator new(103), std::size_t{103});
    ::operator delete[](::operator new[](105));
    ::operator delete[](::operator new[](107), std::size_t{107});
    ::operator delete(::operator new(109, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](111, std::nothrow), std::nothrow);
    ::operator delete(::operator new(113, align), align);
    ::operator delete(::operator new(115, align), std::size_t{115}, align);
    ::operator delete[](::operator new[](117, align), align);
    ::operator delete[](::operator new[](119, align), std::size_t{119}, align);
    ::operator delete(::operator new(121, align, std::nothrow), align, std::nothrow);
    ::operator delete[](::operator new[](123, align, std::nothrow), align, std::nothrow);
    delete new wide;
    reserve = std::malloc(127);
    std::set_new_handler(give_up_reserve);
    try {
        ::operator delete(::operator new(static_cast<std::size_t>(-1) / 4));
    } catch (const std::bad_alloc &) {
        ::operator delete(::operator new(125)); // recording goes on
        return 0;
    }
    return 1;
}
