//go:build race

package main

// Under the race detector, which makes programs several times slower, only the scripts run in
// which one program does many things at once: servers, runners, landers, clients that listen.
// `make scripts` runs all of them without it.
func init() {
	for _, name := range []string{
		"board", "chat", "check", "checkends", "client", "clientgateway", "clienthttp", "clientwatch",
		"crew", "crewacp", "crewanswer", "crewbound", "crewclaude", "crewend", "crewgateway", "crewlimit", "crewreview", "crewstop", "crewteam",
		"dashboard", "direct", "hook", "killed", "land", "landing", "lateanswer", "mcp", "mcplater", "nextkilled",
		"revoke", "serve", "team", "watch", "work",
	} {
		scripts = append(scripts, "testdata/script/"+name+".txtar")
	}
}
