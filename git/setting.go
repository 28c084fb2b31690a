package git

import (
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"
)

// settings yields the settings in a configuration file of the repository, such as
// remote.origin.url. It reads the file only, and no file that this includes.
func (r *Repo) settings(name string) iter.Seq2[string, string] {
	return configFile(filepath.Join(r.Common, name))
}

// configFile yields the settings in a configuration file, up to where git would reject it; none if
// it is not a regular file of bounded size.
func configFile(path string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		f, err := openPlain(path, maxConfig)
		if err != nil {
			return
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxConfig))
		if err != nil {
			return
		}
		p := configParser{text: strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n")}
		for p.next() && yield(p.section+p.key, p.value) {
		}
	}
}

// A configParser reads the text of a configuration file by git's rules. It ends where git would
// reject the file.
type configParser struct {
	text    string // what is left
	section string // with a dot at its end
	// key and value are the last setting.
	key, value string
}

// next reads up to and with the next setting.
func (p *configParser) next() bool {
	for p.text != "" {
		switch c := p.text[0]; {
		case c == ' ' || c == '\t' || c == '\n':
			p.text = p.text[1:]
		case c == '#' || c == ';':
			_, p.text, _ = strings.Cut(p.text, "\n")
		case c == '[':
			if !p.readSection() {
				return false
			}
		default:
			return p.readSetting()
		}
	}
	return false
}

// readSection reads [name], [name.sub] or [name "sub"].
func (p *configParser) readSection() bool {
	end := strings.IndexAny(p.text, "] \t\n")
	if end < 0 || p.text[end] == '\n' {
		return false
	}
	p.section = strings.ToLower(p.text[1:end]) + "."
	if p.text[end] == ']' {
		p.text = p.text[end+1:]
		return true
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.text[end:], " \t"), `"`)
	if !ok {
		return false
	}
	var sub strings.Builder
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; c {
		case '\n':
			return false
		case '"':
			p.section += sub.String() + "."
			p.text, ok = strings.CutPrefix(rest[i+1:], "]")
			return ok
		case '\\':
			if i++; i == len(rest) {
				return false
			}
			sub.WriteByte(rest[i])
		default:
			sub.WriteByte(c)
		}
	}
	return false
}

// readSetting reads a key, and its value if it has one.
func (p *configParser) readSetting() bool {
	end := strings.IndexFunc(p.text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
	})
	if end < 0 {
		end = len(p.text)
	}
	if end == 0 {
		return false
	}
	p.key, p.value = strings.ToLower(p.text[:end]), "true"
	p.text = strings.TrimLeft(p.text[end:], " \t")
	if p.text == "" || p.text[0] == '\n' {
		return true
	}
	if p.text[0] != '=' {
		return false
	}
	p.text = p.text[1:]
	return p.readValue()
}

// readValue reads the rest of a line, and the lines that continue it.
func (p *configParser) readValue() bool {
	var value strings.Builder
	quoted, keep := false, 0 // keep is how much of the value does not end in space
	for i := 0; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '\n' && quoted:
			return false
		case c == '\n' || !quoted && (c == '#' || c == ';'):
			_, p.text, _ = strings.Cut(p.text[i:], "\n")
			p.value = value.String()[:keep]
			return true
		case !quoted && (c == ' ' || c == '\t'):
			if keep > 0 {
				value.WriteByte(c)
			}
		case c == '"':
			quoted = !quoted
			keep = value.Len() // blanks before it are part of the value
		case c == '\\':
			if i++; i == len(p.text) {
				return false
			}
			if p.text[i] == '\n' {
				keep = value.Len()
				continue
			}
			n := strings.IndexByte(`tbn\"`, p.text[i])
			if n < 0 {
				return false
			}
			value.WriteByte("\t\b\n\\\""[n])
			keep = value.Len()
		default:
			value.WriteByte(c)
			keep = value.Len()
		}
	}
	p.text, p.value = "", value.String()[:keep]
	return !quoted
}

// extensions are the extensions of a repository's format that this package knows, with the values
// that they may have; without any, every value is fine. Newer versions of git have further ones,
// which can make git write elsewhere.
var extensions = map[string][]string{
	"noop": nil, "noop-v1": nil, "preciousobjects": nil, "partialclone": nil, "worktreeconfig": nil, "relativeworktrees": nil,
	"objectformat": {"sha1", "sha256"}, "compatobjectformat": {"sha1", "sha256"}, "refstorage": {"files", reftable},
}

// reftable is a format of refs that this package does not read.
const reftable = "reftable"

// checkExtension returns an error if a setting of a file is an extension that is not known.
func checkExtension(file, key, value string) error {
	name, ok := strings.CutPrefix(key, "extensions.")
	values, known := extensions[name]
	if ok && (!known || values != nil && !slices.Contains(values, value)) {
		return fmt.Errorf("%q has the extension %.80q with the value %.80q, which Bossman does not know, and with which git may write elsewhere: if you did not set it, do not trust this repository", file, name, value)
	}
	return nil
}

// FormatError returns an error if the repository has a format that this package cannot write.
func (r *Repo) FormatError() error {
	tables, err := r.extended()
	if err == nil && tables {
		err = fmt.Errorf("the refs of %q are stored in the format reftable, which Bossman does not write yet: use a clone that was made with git clone --ref-format=files", r.Root)
	}
	return err
}

// extended returns an error if the format of the repository has an extension that is not known.
// tables is set if the refs are not files.
func (r *Repo) extended() (tables bool, err error) {
	for _, file := range r.configs() {
		for key, value := range configFile(file) {
			if err := checkExtension(file, key, value); err != nil {
				return tables, err
			}
			tables = tables || key == "extensions.refstorage" && value == reftable
		}
	}
	return tables, nil
}
