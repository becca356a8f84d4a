package screen

import (
	"context"
	"net/url"

	tea "github.com/charmbracelet/bubbletea"
)

// Do runs work on a goroutine of its own, and then passes its result to then on the goroutine of the screens. work
// must not touch state of that goroutine. then drops an answer that comes too late.
func Do[T any](h Host, work func() (T, error), then func(T, error) tea.Cmd) tea.Cmd {
	return h.Do(func() func() tea.Cmd {
		result, err := work()
		return func() tea.Cmd { return then(result, err) }
	})
}

// Get requests an object from the server in the background, as Do does.
func Get[T any](ctx context.Context, h Host, path string, query url.Values, then func(*T, error) tea.Cmd) tea.Cmd {
	client := h.API()
	return Do(h, func() (*T, error) {
		answer := new(T)
		return answer, client.Get(ctx, path, query, answer)
	}, then)
}
