package main

// What packages say about the program, and its names in registries. The MCP registry accepts server.json only if the
// package on npm, by its mcpName, and the one on PyPI, by a line of its readme, name the same server.
const (
	homepage   = "https://github.com/bossman-dev/bossman"
	serverName = "io.github.bossman-dev/bossman"
	npmName    = "@bossman-dev/bossman"
	pypiName   = "bossman"
	license    = "Apache-2.0"
	maintainer = "Bossman maintainers <bossman-dev@users.noreply.github.com>"
	// summary has at most 100 characters, the limit of the MCP registry.
	summary = "Task board and tool gateway for crews of AI agents, over MCP"
)

// packageReadme is what the pages of npm and PyPI show.
const packageReadme = `# Bossman

` + summary + `.

This package has the program ` + "`bossman`" + ` and nothing else; it downloads nothing when it is installed.

    bossman init                       # in your repository
    bossman task add "Write a README"
    claude                             # or another agent: tell it "work on the board"

Documentation: ` + homepage + `

<!-- mcp-name: ` + serverName + ` -->
`
