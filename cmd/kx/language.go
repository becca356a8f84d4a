package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/core/lang"
)

// languageVar adds --lang to a command. Without the flag, the environment selects the language.
func languageVar(cmd *cobra.Command, language *lang.Language) {
	*language = lang.FromEnvironment(os.Getenv)
	cmd.Flags().Var(&languageValue{language: language}, "lang",
		"the language of what kx says of requests: en or zh (default: as LC_ALL, LC_MESSAGES or LANG say)")
	oneOf(cmd, "lang", lang.Codes()...)
}

// languageValue is the value of --lang.
type languageValue struct {
	language *lang.Language
	given    bool
}

// String returns the flag's value if it was given. Otherwise it returns "", so that help does not show the
// environment's language as the default.
func (v *languageValue) String() string {
	if !v.given {
		return ""
	}
	return v.language.String()
}

func (v *languageValue) Type() string { return "string" }

func (v *languageValue) Set(text string) (err error) {
	*v.language, err = lang.Parse(text)
	v.given = err == nil
	return err
}
