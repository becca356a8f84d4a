package shell

import (
	"strings"
	"unicode/utf8"

	"github.com/kx-apiserver/kx/core/request"
)

// Way is a command that sends a request.
type Way struct {
	Program string
	Text    string // empty if the program has no command for it
	Note    string // the differences, or why there is no command
}

// Short returns the command in one line.
func (w Way) Short() string {
	if w.Text == "" {
		return w.Program + ": " + w.Note
	}
	first, _, more := strings.Cut(w.Text, "\n")
	if more {
		first += " …"
	}
	return first
}

// Target describes the server for the commands.
type Target struct {
	// Kubeconfig is the file to pass to kubectl and kx; empty if they find it by themselves.
	Kubeconfig string
	// Context is the context to pass to kubectl; empty for the current one. kx has no flag for it.
	Context string
	// Server is the address for curl, without a path.
	Server string
	// CA, Cert and Key are files for curl. They may be empty: a proxy needs none.
	CA, Cert, Key string
}

// programs lists the makers of commands, in the order of the menu.
var programs = [...]func(*request.Request, *request.HTTP, Target) Way{
	kubectl,
	func(r *request.Request, _ *request.HTTP, w Target) Way { return kx(r, w) },
	func(_ *request.Request, h *request.HTTP, w Target) Way { return curl(h, w) },
}

// Programs is the number of programs.
const Programs = len(programs)

// WayOf returns the command of the n-th program for a request.
func WayOf(n int, r *request.Request, h *request.HTTP, w Target) Way { return programs[n](r, h, w) }

// withBody adds a body as the command's input.
func withBody(words []string, body []byte) string {
	if len(body) == 0 {
		return Line(words...)
	}
	return Heredoc(Line(words...), string(body))
}

func kx(r *request.Request, w Target) Way {
	way := Way{Program: "kx"}
	words := append([]string{"kx", "send"}, kubeconfig(w)...)
	words = append(words, "-f", "-")
	if r.Body == "" {
		text, err := request.FormatLine(*r)
		if err != nil {
			way.Note = err.Error()
			return way
		}
		say := []string{"echo", text}
		if strings.Contains(text, `\`) {
			say = []string{"printf", `%s\n`, text} // some shells' echo has its own mind about backslashes
		}
		way.Text = Line(say...) + " | " + Line(words...)
		return way
	}
	data, err := request.Format(*r)
	if err != nil {
		way.Note = err.Error()
		return way
	}
	way.Text = Heredoc(Line(words...), string(data))
	return way
}

func kubeconfig(w Target) []string {
	if w.Kubeconfig == "" {
		return nil
	}
	return []string{"--kubeconfig", w.Kubeconfig}
}

// reach returns kubectl's flags for the server.
func reach(w Target) []string {
	if w.Context == "" {
		return kubeconfig(w)
	}
	return append(kubeconfig(w), "--context", w.Context)
}

func curl(h *request.HTTP, w Target) Way {
	words := []string{"curl", "-sS"}
	if h.Query.Get("watch") == "true" {
		words = append(words, "-N")
	}
	for _, f := range []struct{ option, file string }{{"--cacert", w.CA}, {"--cert", w.Cert}, {"--key", w.Key}} {
		if f.file != "" {
			words = append(words, f.option, f.file)
		}
	}
	if h.Method != "GET" {
		words = append(words, "-X", h.Method)
	}
	for _, name := range headerNames(h.Header) {
		for _, v := range h.Header[name] {
			words = append(words, "-H", name+": "+v)
		}
	}
	url := w.Server + h.URI()
	body := strings.TrimSuffix(string(h.Body), "\n")
	switch {
	case !utf8.Valid(h.Body) || strings.Contains(body, "\x00"):
		return Way{Program: "curl", Note: "the body is no text"}
	case len(h.Body) == 0:
		return Way{Program: "curl", Text: Line(append(words, url)...)}
	case !strings.Contains(body, "\n"):
		return Way{Program: "curl", Text: Line(append(words, "--data-raw", body, url)...)}
	}
	return Way{Program: "curl", Text: withBody(append(words, "--data-binary", "@-", url), h.Body)}
}
