// Package mcpcli is `bossman client`: a command-line client for any MCP server.
//
//	command line ──► target ──► session ──► tools, call, read, prompt, watch
//	                   ▲           │
//	   configuration files         └─ connects, logs in, asks the person, explains errors
//	   of other clients
//
// Everything that a server sends is foreign text. It goes to a terminal through package
// console, and files that it sends are new files in one directory.
package mcpcli
