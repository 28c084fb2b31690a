package main

import (
	"os"
	"path/filepath"
)

// A registryServer is server.json, with which the server is published in the MCP registry.
type registryServer struct {
	Schema      string            `json:"$schema"`
	Name        string            `json:"name"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Version     string            `json:"version"`
	Repository  registrySource    `json:"repository"`
	Packages    []registryPackage `json:"packages"`
}

type registrySource struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

type registryPackage struct {
	Type       string             `json:"registryType"`
	Identifier string             `json:"identifier"`
	Version    string             `json:"version"`
	Runtime    string             `json:"runtimeHint"`
	Transport  registryTransport  `json:"transport"`
	Arguments  []registryArgument `json:"packageArguments"`
}

type registryTransport struct {
	Type string `json:"type"`
}

type registryArgument struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// writeServer writes server.json. It names the packages of npm and PyPI, which choose the program for the
// system; it cannot say for which system an MCPB bundle is, so it names none.
func (r *release) writeServer() error {
	version, err := pythonVersion(r.version)
	if err != nil {
		return err
	}
	stdio, args := registryTransport{"stdio"}, []registryArgument{{"positional", "mcp"}}
	text, err := marshal(registryServer{
		Schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		Name:   serverName, Title: "Bossman", Description: summary, Version: r.version, Repository: registrySource{homepage, "github"},
		Packages: []registryPackage{{"npm", npmName, r.version, "npx", stdio, args}, {"pypi", pypiName, version, "uvx", stdio, args}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "server.json"), text, 0o644)
}
