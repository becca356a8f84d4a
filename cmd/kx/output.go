package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/tui/disk"
)

// formatVar adds -o to a command. The first of the formats is the default.
func formatVar(cmd *cobra.Command, flags *pflag.FlagSet, format *render.Format, usage string, formats ...render.Format) {
	*format = formats[0]
	flags.VarP(&formatValue{format, formats}, "output", "o", usage)
	var names []cobra.Completion
	for _, f := range formats {
		if f != render.Text {
			names = append(names, string(f))
		}
	}
	oneOf(cmd, "output", names...)
}

// listFormatVar is formatVar for a command that lists.
func listFormatVar(cmd *cobra.Command, format *render.Format) {
	formatVar(cmd, cmd.Flags(), format, "table, json or yaml", render.Table, render.JSON, render.YAML)
}

// formatValue is the value of -o: one of a few formats.
type formatValue struct {
	format  *render.Format
	formats []render.Format
}

func (v *formatValue) String() string { return string(*v.format) }
func (v *formatValue) Type() string   { return "string" }

func (v *formatValue) Set(text string) error {
	var names []string
	without := ""
	for _, f := range v.formats {
		switch {
		case f == render.Text:
			without = ", or leave -o out"
		case string(f) == text:
			*v.format = f
			return nil
		default:
			names = append(names, string(f))
		}
	}
	return fmt.Errorf("use %s%s", strings.Join(names, ", "), without)
}

// outVar adds --out to a command that writes one document.
func outVar(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "out", "", "the file to write, which only its owner can read, instead of standard output")
}

// writeOut writes a document to the file of --out. It does not replace a device or a directory.
func writeOut(file string, out io.Writer, data []byte) error {
	if file == "" || file == "-" {
		_, err := out.Write(data)
		return err
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file: without --out, it goes to standard output", file)
	}
	return disk.Replace(file, data, 0o600)
}
