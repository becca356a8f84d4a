// Package prompt is a line that one types into: text and a cursor. It is pure; who draws it asks for its parts.
package prompt
