package proc

import (
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// reapPause is the pause between two searches for adopted processes that have exited.
const reapPause = 5 * time.Second

// Adopt makes every process belong to this one that a process below it leaves behind: also what is
// left of a minder that was killed, so that it can be ended. It waits for those that exit until stop
// is called.
func Adopt() (stop func(), err error) {
	if err := adoptAll(); err != nil {
		return nil, err
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for tick := time.NewTicker(reapPause); ; {
			select {
			case <-over:
				tick.Stop()
				return
			case <-tick.C:
				reapAdopted()
			}
		}
	})
	return func() {
		close(over)
		wg.Wait()
	}, nil
}

// adopted finds the processes whose parent is this one, and that it did not start: whoever did has
// left them behind.
func adopted(all map[int][]string) (pids []int) {
	self := strconv.Itoa(os.Getpid())
	group := strconv.Itoa(syscall.Getpgrp())
	started.Lock()
	defer started.Unlock()
	for pid, fields := range all {
		if fields[1] == self && fields[2] != group && !started.pids[pid] {
			pids = append(pids, pid)
		}
	}
	return pids
}

// strays finds adopted processes that belong to nothing that still runs: they have no marker, and
// are in no group of ours.
func strays() (pids []int) {
	all := processes()
	for _, pid := range adopted(all) {
		group, _ := strconv.Atoi(all[pid][2])
		started.Lock()
		ours := started.pids[group]
		started.Unlock()
		if !ours && !marked(pid, Marker+"=") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// reapAdopted waits for the adopted processes that have exited.
func reapAdopted() {
	for _, pid := range adopted(list(func(state string) bool { return state == "Z" })) {
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
}
