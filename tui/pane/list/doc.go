// Package list is the pane of requests: a row for each journey, the newest at the bottom.
//
// It owns the cursor and whether it follows the newest row. It draws the rows that are in view from a ring that it
// doesn't own. What means something has a mark in the text: > the cursor, ! a request that failed, ~ one that runs, = one that
// is held, * one that something was done to, and the letter that the user gave it.
package list
