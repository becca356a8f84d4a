package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/docs"
	"github.com/kx-apiserver/kx/tui/markdown"
	"github.com/kx-apiserver/kx/tui/theme"
)

func newLearnArticlesCommand() *cobra.Command {
	var language lang.Language
	cmd := &cobra.Command{
		Use:   "articles",
		Short: "Go through three articles about the API server: then, now, in kx, and how to see it",
		Long: `Go through three articles that describe the Kubernetes API server by its call chains, paragraph by paragraph: what the article's
release did, what Kubernetes does now, which step, function and file that is in kx, and the command and lesson that show it.`,
		Example: `  kx learn articles
  kx learn articles --lang zh`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := articlesText(language)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			for _, line := range markdown.Lines(text, widthOf(out), theme.Plain()) {
				fmt.Fprintln(out, strings.TrimRight(line.Text, " "))
			}
			return nil
		},
	}
	languageVar(cmd, &language)
	return cmd
}

// articlesText returns the document about the articles, without its chains below headings of the third level.
func articlesText(language lang.Language) (string, error) {
	name := "articles.md"
	if language == lang.Chinese {
		name = "articles.zh.md"
	}
	data, err := fs.ReadFile(docs.Files, name)
	if err != nil {
		return "", err
	}
	var kept strings.Builder
	chain := false
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			chain = strings.HasPrefix(line, "### ")
		}
		if !chain {
			kept.WriteString(line)
		}
	}
	return kept.String(), nil
}

// pageWidth is the width of text that is not written to a terminal.
const pageWidth = 160

// widthOf returns the width for text on out.
func widthOf(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return pageWidth
}
