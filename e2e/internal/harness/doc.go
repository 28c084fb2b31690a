// Package harness starts real clients against our servers and tells what they
// said to each other.
//
// [Install] brings the clients, [Build] our programs, [Command] and [Run] start
// a client in a scratch home and end all of it, [Service] is a server that runs
// for many clients, and [Record] reads what the tee, or the front of a service,
// wrote down between client and server.
package harness
