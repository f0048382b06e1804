// SPDX-License-Identifier: Apache-2.0

// This file draws curves as SVG.

package report

import (
	"fmt"
	"math"
	"os"
	"strings"
)

// Curve is a line of a plot.
type Curve struct {
	Name   string
	Points [][2]float64
}

// Measures of the drawing.
const (
	plotWidth, plotHeight         = 800, 420
	plotLeft, plotTop, plotBottom = 60, 40, 50
	plotRight                     = 210 // with the names
)

// WritePlot draws curves over an axis from 0 on, both ways.
func WritePlot(path, title, across, up string, curves []Curve) error {
	var right, top float64
	for _, c := range curves {
		for _, p := range c.Points {
			right, top = max(right, p[0]), max(top, p[1])
		}
	}
	if right == 0 || top == 0 {
		return fmt.Errorf("plot %s: nothing to draw", path)
	}
	stepX, stepY := step(right), step(top)
	right, top = math.Ceil(right/stepX)*stepX, math.Ceil(top/stepY)*stepY
	x := func(v float64) float64 { return plotLeft + v/right*(plotWidth-plotLeft-plotRight) }
	y := func(v float64) float64 { return plotHeight - plotBottom - v/top*(plotHeight-plotTop-plotBottom) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n"+`<text x="%d" y="22" font-size="15">%s</text>`+"\n", plotLeft, title)
	for v := 0.0; v <= top; v += stepY {
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
			plotLeft, y(v), plotWidth-plotRight, plotLeft-6, y(v)+4, v)
	}
	for v := 0.0; v <= right; v += stepX {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%g</text>`+"\n", x(v), plotHeight-plotBottom+18, v)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(right/2), plotHeight-12, across)
	fmt.Fprintf(&b, `<text transform="translate(16 %.1f) rotate(-90)" text-anchor="middle">%s</text>`+"\n", y(top/2), up)
	for i, c := range curves {
		drawCurve(&b, i, c, x, y)
	}
	b.WriteString("</svg>\n")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

func drawCurve(b *strings.Builder, i int, c Curve, x, y func(float64) float64) {
	colors := []string{"#0b6e4f", "#d1495b", "#30638e", "#edae49", "#7768ae", "#6b705c", "#00a6a6", "#b5651d"}
	color := colors[i%len(colors)]
	fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="1.5" d="`, color)
	for j, p := range c.Points {
		command := 'L'
		if j == 0 {
			command = 'M'
		}
		fmt.Fprintf(b, "%c%.1f %.1f", command, x(p[0]), y(p[1]))
	}
	b.WriteString(`"/>` + "\n")
	at := plotTop + 18*i
	fmt.Fprintf(b, `<path d="M%d %dh20" stroke="%s" stroke-width="3"/><text x="%d" y="%d">%s</text>`+"\n",
		plotWidth-plotRight+12, at, color, plotWidth-plotRight+38, at+4, c.Name)
}

// step is a round distance of lines, for five to ten of them.
func step(most float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(most)))
	for _, part := range []float64{0.1, 0.2, 0.5} {
		if most/(unit*part) <= 10 {
			return unit * part
		}
	}
	return unit
}
