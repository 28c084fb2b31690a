package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WriteReleaseFiles writes the completions for shells and the manual pages of all commands into a directory, as a release
// has them. Their text depends on the program alone.
func WriteReleaseFiles(root *cobra.Command, dir, version string) error {
	completions, man := filepath.Join(dir, "completions"), filepath.Join(dir, "man", "man1")
	for _, d := range []string{completions, man} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	name := root.Name()
	for file, write := range map[string]func(string) error{
		name + ".bash": func(f string) error { return root.GenBashCompletionFileV2(f, true) },
		"_" + name:     root.GenZshCompletionFile,
		name + ".fish": func(f string) error { return root.GenFishCompletionFile(f, true) },
		name + ".ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		if err := write(filepath.Join(completions, file)); err != nil {
			return err
		}
	}
	var walk func(cmd *cobra.Command) error
	walk = func(cmd *cobra.Command) error {
		if cmd.Hidden {
			return nil
		}
		if err := os.WriteFile(filepath.Join(man, pageName(cmd)+".1"), []byte(manPage(cmd, version)), 0o644); err != nil {
			return err
		}
		for _, c := range cmd.Commands() {
			if err := walk(c); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(root)
}

// pageName is the name of a command's manual page, such as bossman-task-add.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the manual page of a command, for man(1).
func manPage(cmd *cobra.Command, version string) string {
	var b strings.Builder
	section := func(name string) { fmt.Fprintf(&b, ".SH %s\n", name) }
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"Bossman %s\" \"Bossman\"\n", roff(strings.ToUpper(pageName(cmd))), roff(version))
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&b, ".nf\n%s\n.fi\n", roff(cmd.UseLine()))
	section("DESCRIPTION")
	for i, paragraph := range strings.Split(cmp.Or(cmd.Long, cmd.Short), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roff(paragraph) + "\n")
	}
	flags := func(name string, set *pflag.FlagSet) {
		any := false
		set.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			if !any {
				section(name)
				any = true
			}
			value, usage := pflag.UnquoteUsage(f)
			flag := "--" + f.Name
			if f.Shorthand != "" {
				flag = "-" + f.Shorthand + ", " + flag
			}
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR %s\n%s\n", roff(flag), roff(value), roff(usage))
		})
	}
	flags("OPTIONS", cmd.NonInheritedFlags())
	flags("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		section("EXAMPLES")
		fmt.Fprintf(&b, ".nf\n%s\n.fi\n", roff(strings.Trim(cmd.Example, "\n")))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, pageName(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			also = append(also, pageName(c))
		}
	}
	if len(also) > 0 {
		section("SEE ALSO")
		for i, name := range also {
			comma := ","
			if i == len(also)-1 {
				comma = ""
			}
			fmt.Fprintf(&b, "\\fB%s\\fR(1)%s\n", roff(name), comma)
		}
	}
	return b.String()
}

// roff is a text in which nothing is an instruction to a formatter.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
