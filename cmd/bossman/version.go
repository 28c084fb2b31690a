package main

import (
	_ "embed"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/bossman-dev/bossman/internal/cli"
	"github.com/spf13/cobra"
)

// number is the version of the release that this is, or that comes next. It is written nowhere else.
//
//go:embed VERSION
var number string

// release and revision are set by the linker when a release is built: see internal/release.
var release, revision string

type versionJSON struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitzero"`
	Modified bool   `json:"modified,omitzero"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func buildVersion() versionJSON {
	v := versionJSON{Version: strings.TrimSpace(number), Revision: revision, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if release == "" && (!ok || info.Main.Version != "v"+v.Version) { // which go install has for a tag
		v.Version += "-dev"
	}
	if ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	return v
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.showVersion() },
	}
}

// releaseFilesCommand is for internal/release.
func (a *app) releaseFilesCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "release-files DIR", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return cli.WriteReleaseFiles(root, args[0], buildVersion().Version)
		},
	}
}

func (a *app) showVersion() error {
	v := buildVersion()
	if a.JSON {
		return a.PrintJSON(v)
	}
	a.Linef("bossman %s %s %s", v.Version, v.Go, v.Platform)
	return nil
}
