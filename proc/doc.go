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
// environment escapes. On Linux the child itself dies with this process, however that
// dies. TryLock is a lock between processes that ends with its holder. On systems without /proc only the group is ended; on Windows only the child.
package proc
