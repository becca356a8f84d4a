package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
)

// home stands for anybody's home directory in the reference.
const home = "/home/you"

// documented are all commands, as they are for you.
func documented(t *testing.T) *cobra.Command {
	t.Helper()
	for name, value := range map[string]string{"HOME": home, "KUBECACHEDIR": "", themeVariable: "", "LANG": "C", "LC_ALL": ""} {
		t.Setenv(name, value)
	}
	root := newRootCommand(kubectl.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}})
	root.InitDefaultCompletionCmd("help") // a first argument that makes no difference
	return root
}

// walk calls f for each command that is shown, a parent before its children.
func walk(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			walk(sub, f)
		}
	}
}

// TestHelp wants each command to say in one line what it does, and to show how, or have its parent do so.
func TestHelp(t *testing.T) {
	walk(documented(t), func(cmd *cobra.Command) {
		if cmd.Short == "" {
			t.Errorf("%s does not say what it does", cmd.CommandPath())
		}
		if cmd.Runnable() && !cmd.HasSubCommands() && cmd.Example == "" && cmd.Parent().Example == "" && !fewWords[cmd.Name()] {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		if strings.Contains(cmd.Example, "kubectl get") || strings.Contains(cmd.Long, "kubectl get") {
			t.Errorf("the help of %s calls kubectl", cmd.CommandPath())
		}
	})
}

// fewWords are commands that one can call in one way, or whose help texts are not ours and show it otherwise.
var fewWords = map[string]bool{"version": true, "bash": true, "fish": true, "zsh": true, "powershell": true, "compare": true}

// TestReference holds docs/reference.md and docs/man against the commands. -rewrite makes them anew.
func TestReference(t *testing.T) {
	root := documented(t)
	want := map[string]string{"reference.md": reference(root)}
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" || cmd == root {
			want[filepath.Join("man", strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")] = manPage(cmd)
		}
	}
	docs := filepath.Join("..", "..", "docs")
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		writeDocs(t, docs, want)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(docs, name)); err != nil || string(got) != text {
			t.Errorf("docs/%s is not what the commands say (%v): go test ./cmd/kx -run TestReference -rewrite", name, err)
		}
	}
	pages, _ := filepath.Glob(filepath.Join(docs, "man", "*"))
	for _, page := range pages {
		if _, ok := want[filepath.Join("man", filepath.Base(page))]; !ok {
			t.Errorf("%s is of no command", page)
		}
	}
}

func writeDocs(t *testing.T, docs string, want map[string]string) {
	t.Helper()
	if err := errorsOf(os.RemoveAll(filepath.Join(docs, "man")), os.MkdirAll(filepath.Join(docs, "man"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// reference is all commands in one document.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Commands\n\nMade from the commands by `go test ./cmd/kx -run TestReference -rewrite`.\n")
	var connection *pflag.FlagSet
	walk(root, func(cmd *cobra.Command) {
		level := strings.Count(cmd.CommandPath(), " ") + 1
		fmt.Fprintf(&b, "\n%s %s\n\n%s\n", strings.Repeat("#", min(level+1, 4)), cmd.CommandPath(), cmd.Short)
		if cmd.Runnable() {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", cmd.UseLine())
		}
		if long := help(cmd.Long); long != "" && long != cmd.Short {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", long)
		}
		if example := outdent(cmd.Example); example != "" {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", example)
		}
		if flags := usages(ownFlags(cmd)); flags != "" {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", flags)
		}
		if kubectl.ConnectionFlags(cmd).HasFlags() {
			connection = kubectl.ConnectionFlags(cmd)
			b.WriteString("\nAnd the [flags of all commands that use a server](#flags-of-all-commands-that-use-a-server).\n")
		}
	})
	fmt.Fprintf(&b, "\n## Flags of all commands that use a server\n\n```\n%s\n```\n", usages(connection))
	return b.String()
}

// ownFlags are the flags that a command's reference lists: its own, and its parents' but for those of all.
func ownFlags(cmd *cobra.Command) *pflag.FlagSet { return kubectl.OwnFlags(cmd) }

func usages(flags *pflag.FlagSet) string {
	return trimLines(flags.FlagUsages())
}

func help(text string) string { return trimLines(outdent(text)) }

// outdent takes away what all lines begin with.
func outdent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	least := -1
	for _, line := range lines {
		if trimmed := strings.TrimLeft(line, " "); trimmed != "" && (least < 0 || len(line)-len(trimmed) < least) {
			least = len(line) - len(trimmed)
		}
	}
	for i, line := range lines {
		if least > 0 && len(line) >= least {
			lines[i] = line[least:]
		}
	}
	return trimLines(strings.Join(lines, "\n"))
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// manPage is the page of a command, with those below it.
func manPage(top *cobra.Command) string {
	var b strings.Builder // names of flags and fields are not hyphenated
	name := strings.ReplaceAll(top.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"kx\" \"kx commands\"\n.nh\n.ad l\n", roff(strings.ToUpper(name)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(top.Short))
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", title, roff(text))
		}
	}
	prose := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, ".SH %s\n%s", title, paragraphs(text))
		}
	}
	options := func(title string, flags *pflag.FlagSet) {
		if text := flagItems(flags); text != "" {
			fmt.Fprintf(&b, ".SH %s\n%s", title, text)
		}
	}
	if !top.HasParent() {
		prose("DESCRIPTION", help(top.Long))
		section("EXAMPLES", outdent(top.Example))
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range top.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR kx\\-%s (1)\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
		return b.String()
	}
	walk(top, func(cmd *cobra.Command) {
		prefix := ""
		if cmd != top {
			prefix = strings.ToUpper(strings.TrimPrefix(cmd.CommandPath(), top.CommandPath()+" ")) + ": "
			section(roff(strings.TrimSuffix(prefix, ": ")), cmd.Short)
		}
		section(prefix+"SYNOPSIS", cmd.UseLine())
		prose(prefix+"DESCRIPTION", help(cmd.Long))
		options(prefix+"OPTIONS", ownFlags(cmd))
		section(prefix+"EXAMPLES", outdent(cmd.Example))
	})
	options("OPTIONS OF ALL COMMANDS THAT USE A SERVER", kubectl.ConnectionFlags(top))
	b.WriteString(".SH SEE ALSO\n.BR kx (1)\n")
	return b.String()
}

// paragraphs is a help text that fits any width. Lines that were broken for their length alone are joined. All others
// stay as they are: tables, lists and examples.
func paragraphs(text string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		lines := strings.Split(strings.Trim(paragraph, "\n"), "\n")
		if len(lines) == 1 {
			lines[0] = strings.TrimSpace(lines[0])
		}
		asIs := false
		for n, line := range lines {
			asIs = asIs || strings.HasPrefix(line, " ") || n < len(lines)-1 && len(line) < 90
		}
		body := roff(strings.Join(lines, "\n"))
		if asIs {
			body = ".nf\n" + body + "\n.fi"
		}
		b.WriteString(body + "\n")
	}
	return b.String()
}

// flagItems are flags as the items of a list, each with its text below it.
func flagItems(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		one := pflag.NewFlagSet("", pflag.ContinueOnError)
		one.AddFlag(f)
		names, text, _ := strings.Cut(strings.TrimSpace(one.FlagUsages()), "   ")
		if names == "" {
			return // the flag is hidden
		}
		var tag []string
		for _, word := range strings.Fields(names) {
			word, comma := strings.CutSuffix(word, ",")
			font := "I"
			if strings.HasPrefix(word, "-") {
				font = "B"
			}
			tag = append(tag, `\f`+font+roff(word)+`\fR`+map[bool]string{true: ","}[comma])
		}
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = roff(strings.TrimSpace(lines[i]))
		}
		fmt.Fprintf(&b, ".TP\n%s\n%s\n", strings.Join(tag, " "), strings.Join(lines, "\n.br\n"))
	})
	return b.String()
}

// roff makes text that shows as it is.
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
