// Package rows is a framed pane of rows: a list with a cursor, or text without one, that can be searched.
//
// It owns the positions of the cursor and the window. For each frame it takes a [Content]: the number of rows, and a
// function that makes one row. It makes only the visible rows.
package rows
