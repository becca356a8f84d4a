// Package rows is a framed pane of rows: a list with a cursor, or text without one, that can be searched.
//
// It owns where the cursor and the window are. What comes in, each time it is drawn, is a [Content]: how many rows there
// are and a function that makes one of them; only those that are seen are made. What the rows are is its user's business.
package rows
