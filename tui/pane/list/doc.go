// Package list is the pane of requests: a row for each journey, the newest at the bottom.
//
// It owns the cursor and whether it follows the newest row. It draws the rows in view from a ring that it doesn't
// own. Each state has a mark in the text: > the cursor, ! a request that failed, ~ a running request, = a held
// request, * a request with an intervention, and the letter of the user's mark.
package list
