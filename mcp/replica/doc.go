// Package replica defines what several processes share that serve the same
// clients: keys, tasks, the state of sessions, events, and messages to each
// other. A single process needs none of it. Package replicatest tests
// implementations; Bossman's store/postgres is one.
package replica
