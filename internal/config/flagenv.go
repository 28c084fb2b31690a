package config

import (
	"strings"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/pflag"
)

// FlagVariable is the environment variable that stands for a flag: BOSSMAN_TLS_CERT for
// --tls-cert. Containers and service managers set variables more easily than flags.
func FlagVariable(flag string) string {
	return "BOSSMAN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// DocumentVariables adds the names of the variables to the help of the flags.
func DocumentVariables(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) { f.Usage += " (" + FlagVariable(f.Name) + ")" })
}

// ReadVariables sets the flags that were not given from their variables. A flag that may
// be repeated takes several values from its variable, separated by semicolons.
func ReadVariables(flags *pflag.FlagSet, getenv func(string) string) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		v := getenv(FlagVariable(f.Name))
		if f.Changed || f.Name == "help" || v == "" || err != nil {
			return
		}
		values := []string{v}
		if _, many := f.Value.(pflag.SliceValue); many {
			values = strings.Split(v, ";")
		}
		for _, v := range values {
			if v = strings.TrimSpace(v); v == "" {
				continue
			}
			if e := flags.Set(f.Name, v); e != nil {
				err = console.Usagef("%s: %q cannot be --%s", FlagVariable(f.Name), v, f.Name)
				return
			}
		}
	})
	return err
}
