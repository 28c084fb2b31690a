// Package proc starts a child process and ends it together with everything that it
// started.
//
//	Start ──► child ──► its children …          one process group, marked BOSSMAN_RUN=…
//	  │
//	 End      SIGTERM to the group, a grace period, SIGKILL to the group, then SIGKILL
//	          to every process that carries the marker, until none is left
//
// A process can leave its group (setsid), and its parent may be dead by then; the
// marker in its environment still finds it. A process that also clears its
// environment escapes from Start, but not from Mind, which puts a process of our own
// between us and the child:
//
//	Mind ──► minder ──► child ──► its children …
//
// On Linux everything below a minder belongs to it, whatever it does. The minder ends all
// of it when the child exits, when it is told to, and when we die, however that happens.
//
// On Linux a child of Start dies with this process. On systems without /proc only the
// group is ended; on Windows only the child, and there are no minders.
// TryLock is a lock between processes that ends with its holder.
package proc
