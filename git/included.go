package git

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

const (
	// maxIncludes bounds how deep configuration files include each other, as git does.
	maxIncludes = 10
	// maxConfigs bounds how many files they include in all.
	maxConfigs = 1000
)

// A reading is a file that git reads because a line of a configuration file names it.
type reading struct {
	file, key, value string // the line
	path             string // not cleaned: a name after a symbolic link means what it means to git
}

// readings returns what git reads because a configuration file names it: further configuration
// files, attributes, and patterns to ignore. It takes every condition of an include for fulfilled.
func (r *Repo) readings(files ...string) (list []reading, err error) {
	for _, file := range files {
		if list, err = r.addReadings(list, file, 0); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (r *Repo) addReadings(list []reading, file string, depth int) (_ []reading, err error) {
	lines, err := configLines(file)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		key, value := line.key, line.value
		named := reading{file, key, value, home(value)}
		switch {
		case named.includes():
			if strings.HasPrefix(value, "%(") || strings.ContainsFunc(value, unicode.IsControl) {
				return nil, fmt.Errorf("%q has %.200q, which may name another file to git than to Bossman: write its path out", file, key+" = "+value)
			}
			if !filepath.IsAbs(named.path) {
				dir, _ := filepath.Split(file)
				named.path = dir + named.path
			}
		case key == "core.attributesfile" || key == "core.excludesfile":
			named.path = resolve(r.Root, named.path)
		default:
			continue
		}
		if len(list) == maxConfigs {
			return nil, fmt.Errorf("%q and the files that it includes name more than %d others, which git would read", file, maxConfigs)
		}
		list = append(list, named)
		if named.includes() && depth < maxIncludes {
			if list, err = r.addReadings(list, named.path, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// includes reports whether the file is a further configuration file.
func (n reading) includes() bool {
	return n.key == "include.path" || strings.HasPrefix(n.key, "includeif.") && strings.HasSuffix(n.key, ".path")
}

// configs are the configuration files of the repository.
func (r *Repo) configs() []string {
	files := []string{filepath.Join(r.Common, "config"), filepath.Join(r.Common, "config.worktree")}
	if r.Dir != r.Common {
		files = append(files, filepath.Join(r.Dir, "config.worktree"))
	}
	return files
}

// userConfigs are the configuration files of the user and of the system.
func userConfigs() []string {
	files := []string{"/etc/gitconfig", home("~/.gitconfig")}
	if dir := userDir(); dir != "" {
		files = append(files, filepath.Join(dir, "config"))
	}
	return files
}

// steady returns an error if git reads configuration from a file in a worktree of the repository or
// in a directory for temporary files, or through one. What git runs is found out by one process and
// run by another, and an agent that may write nothing else could exchange the file in between.
func (r *Repo) steady() error {
	const why = "git would read its configuration from where an agent can change what it runs, in a worktree or a directory for temporary files: "
	list, err := r.readings(append(r.configs(), userConfigs()...)...)
	if err != nil {
		return err
	}
	files := slices.DeleteFunc(r.configs(), func(file string) bool {
		info, err := os.Lstat(file)
		return err != nil || info.Mode()&fs.ModeSymlink == 0
	})
	if len(files) == 0 && !slices.ContainsFunc(list, reading.includes) {
		return nil
	}
	trees, own := r.places()
	trees = append(trees, temporary(r.Common)...)
	for _, file := range files {
		if passes(file, trees, own) {
			return fmt.Errorf(why+"%q is a symbolic link that leads there; put the file itself in its place", file)
		}
	}
	for _, named := range list {
		if named.includes() && passes(named.path, trees, own) {
			return fmt.Errorf(why+"%.200q in %q includes a file there; copy its settings into %[2]q in place of that line, or include a file elsewhere",
				named.key+" = "+named.value, filepath.Clean(named.file))
		}
	}
	return nil
}

// places returns the tops of the worktrees of the repository, whether they are there or not, and its
// git directories. For a submodule, those of the repositories that it lies in are among them.
func (r *Repo) places() (trees, own []string) {
	if !r.Bare {
		trees = append(trees, r.Root)
	}
	for dir := r.Common; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		if isCommon(dir) {
			at := &Repo{Dir: dir, Common: dir}
			own, trees = append(own, dir), append(trees, at.linked()...)
			if tree, ok := at.workTree(); ok {
				trees = append(trees, resolve(dir, tree))
			} else if !at.isBare() {
				trees = append(trees, filepath.Dir(dir))
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return trees, own
}

// maxSteps bounds the parts of a path and of the symbolic links on its way.
const maxSteps = 1000

// passes reports whether a part of a path, or of a symbolic link on its way, is a file or a
// directory in one of the trees, and not in one of the directories own. It need not be there.
func passes(path string, trees, own []string) bool {
	volume := filepath.VolumeName(path)
	at, rest := volume+string(filepath.Separator), path[len(volume):]
	for range maxSteps {
		var name string
		name, rest, _ = strings.Cut(strings.TrimLeft(filepath.ToSlash(rest), "/"), "/")
		switch name {
		case "":
			return false
		case ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if within(next, trees, own) {
			return true
		}
		target, err := os.Readlink(next)
		switch {
		case err != nil:
			at = next
		case filepath.IsAbs(target):
			volume := filepath.VolumeName(target)
			at, rest = volume+string(filepath.Separator), target[len(volume):]+"/"+rest
		default:
			rest = target + "/" + rest
		}
	}
	return true
}

// within reports whether a path is below one of the trees, and not in one of the directories own.
func within(path string, trees, own []string) bool {
	is := func(dirs []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return dir == path || same(dir, path) })
	}
	for {
		if is(own) {
			return false
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		if path = up; is(trees) && !is(own) {
			return true
		}
	}
}

// home returns a path whose beginning may be a tilde, alone or with the name of a user.
func home(path string) string {
	first, rest, _ := strings.Cut(path, "/")
	name, ok := strings.CutPrefix(first, "~")
	if !ok {
		return path
	}
	if name == "" {
		if dir, err := os.UserHomeDir(); err == nil {
			return dir + "/" + rest
		}
	} else if u, err := user.Lookup(name); err == nil {
		return u.HomeDir + "/" + rest
	}
	return path
}
