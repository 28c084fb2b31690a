package main

import (
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/pflag"
)

// variable is the name of the variable that stands for a flag: BOSSMAN_TLS_CERT for
// --tls-cert. Containers and service managers set variables more easily than flags.
func variable(flag string) string {
	return "BOSSMAN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// nameVariables tells in the help which variables there are.
func nameVariables(f *pflag.FlagSet) {
	f.VisitAll(func(fl *pflag.Flag) { fl.Usage += " (" + variable(fl.Name) + ")" })
}

// readVariables fills in the flags that were not given. A flag that may be repeated
// takes several values from its variable, with a semicolon between them.
func readVariables(f *pflag.FlagSet, getenv func(string) string) (err error) {
	f.VisitAll(func(fl *pflag.Flag) {
		v := getenv(variable(fl.Name))
		if fl.Changed || fl.Name == "help" || v == "" || err != nil {
			return
		}
		values := []string{v}
		if _, many := fl.Value.(pflag.SliceValue); many {
			values = strings.Split(v, ";")
		}
		for _, v := range values {
			if v = strings.TrimSpace(v); v == "" {
				continue
			}
			if e := f.Set(fl.Name, v); e != nil {
				err = console.Usagef("%s: %q cannot be --%s", variable(fl.Name), v, fl.Name)
				return
			}
		}
	})
	return err
}
