package screen

import tea "github.com/charmbracelet/bubbletea"

// AskFind asks for a text to find. An empty answer stands for last, the text before.
func AskFind(h Host, where, last string, find func(string) tea.Cmd) tea.Cmd {
	question := where
	if last != "" {
		question = h.Theme().Words.Phrase("%s (nothing: %s)", question, last)
	}
	return h.Ask(question, "", func(text string) tea.Cmd {
		if text == "" {
			text = last
		}
		if text == "" {
			return nil
		}
		return find(text)
	})
}
