// spawn_floor N PROGRAM [ARGUMENT...] - the floor of any launcher: starts N processes, then reaps them;
// nothing else. Ends with 1 if a process did not start or did not end with 0.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char** environ;

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: spawn_floor N PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  int count = atoi(argv[1]);
  for (int i = 0; i < count; i++) {
    pid_t pid;
    if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0) return 1;
  }
  int failed = 0;
  for (int i = 0; i < count; i++) {
    int status;
    if (wait(&status) < 0 || status != 0) failed = 1;
  }
  return failed;
}
