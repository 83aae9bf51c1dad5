// Command pause holds the namespaces of a pod: it waits, reaps processes that lost their parent, and ends when it is asked to.
//
// It does what Kubernetes' build/pause/linux/pause.c does, so that no C compiler is needed.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "warning: pause should be the first process of its pod")
	}
	ended := make(chan os.Signal, 1)
	children := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	signal.Notify(children, syscall.SIGCHLD)
	for {
		select {
		case <-ended:
			return
		case <-children:
			reap()
		}
	}
}

// reap collects every process that has ended; one signal may stand for several.
func reap() {
	for {
		child, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if child <= 0 || err != nil {
			return
		}
	}
}
