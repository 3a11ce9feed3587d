"""Fills redis with sessions that expire and users that stay, and ends it when they have expired.

    expiring_keys.py PORT mixed     a user after every eight sessions
    expiring_keys.py PORT apart     all users first
"""
import socket
import subprocess
import sys
import time

USERS, EACH = 25000, 8


def commands(order):
    users = ["SET user:%d %0*d" % (i, 100 + i * 37 % 300, i) for i in range(USERS)]
    sessions = ["SET session:%d %0*d PX 4000" % (i, 100 + i * 41 % 300, i) for i in range(EACH * USERS)]
    if order == "apart":
        return users + sessions
    return [line for i, user in enumerate(users) for line in (*sessions[i * EACH:(i + 1) * EACH], user)]


def wait_for_server(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
    return sys.exit("redis does not answer")


def main():
    client = ["redis-cli", "-p", sys.argv[1]]
    text = "".join(line + "\r\n" for line in commands(sys.argv[2]))
    wait_for_server(int(sys.argv[1]))
    subprocess.run([*client, "--pipe"], input=text, check=True, text=True, stdout=subprocess.DEVNULL)
    while int(subprocess.run([*client, "dbsize"], check=True, text=True, stdout=subprocess.PIPE).stdout) > USERS:
        time.sleep(0.2)
    time.sleep(0.5)  # for jemalloc
    subprocess.run([*client, "shutdown", "nosave"], check=False)


main()
