package git

import (
	"context"
	"os"
	"strings"
)

// SafeDirectories are the directories that the user's or the system's configuration of git
// names as safe, although they belong to somebody else. A repository's own configuration
// has no say in it.
func SafeDirectories(ctx context.Context) []string {
	nowhere := &Repo{Root: os.TempDir(), Dir: os.DevNull, Bare: true}
	var list []string
	for _, scope := range []string{"--system", "--global"} {
		out, err := nowhere.git(ctx, "config", scope, "--null", "--get-all", "safe.directory")
		if err != nil {
			continue // there are none
		}
		for dir := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			if dir == "" { // it takes back those before it
				list = nil
				continue
			}
			list = append(list, dir)
		}
	}
	return list
}
