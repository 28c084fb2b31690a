// Package config reads what a command needs to know before it starts: settings, where the
// board is, and this machine's keys for servers.
//
// Load reads, in order of precedence: flags, BOSSMAN_* variables, .bossman/config.toml in
// the project, the user's own config.toml. A project's file may come from anybody who can
// push to the repository, so only keys that cannot run a command are taken from it.
//
// Loading creates nothing: the file of a Location need not exist.
package config
