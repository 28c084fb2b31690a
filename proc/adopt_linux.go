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
	noteChildren()
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

// noteChildren notes the children that are there, but for those that this package has started.
func noteChildren() {
	all := processes()
	children := adopted(all)
	started.Lock()
	defer started.Unlock()
	started.before = map[int]string{}
	for _, pid := range children {
		started.before[pid] = startOf(all[pid])
	}
}

// startOf is when a process started, of what processes says of it.
func startOf(fields []string) string { return fields[19] }

// wasThere reports whether noteChildren has noted a process. The caller has locked started.
func wasThere(all map[int][]string, pid int) bool {
	fields, ok := all[pid]
	return ok && started.before[pid] == startOf(fields)
}

// first is whether this is the first process of a system or a container. That is the parent of
// every process whose parent has died, whoever started it.
var first = os.Getpid() == 1

// strays finds adopted processes that belong to nothing that still runs, and may be of a minder that
// was killed: they were not there before, nor are in the session of one that was, which nobody can
// enter, are in no group of ours, and have no marker of ours. Any other marker they have given
// themselves. In the first process they have to be in the minder's session, or to have any marker.
func strays(minder int) (pids []int) {
	all := processes()
	for _, pid := range adopted(all) {
		group, _ := strconv.Atoi(all[pid][2])
		session, _ := strconv.Atoi(all[pid][3])
		started.Lock()
		others := started.pids[group] || wasThere(all, pid) || wasThere(all, session)
		for mark := range started.marks {
			others = others || marked(pid, mark+"\x00")
		}
		started.Unlock()
		if !others && (!first || session == minder || marked(pid, Marker+"=")) {
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
