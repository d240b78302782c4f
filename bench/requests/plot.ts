import { median } from '../harness/report.ts'
import type { Figures, Results } from '../harness/rounds.ts'
import type { Call } from './calls.ts'

const width = 760
const left = 110
const right = 120
const barHeight = 16
const step = 22
const drawn = ['vouchers', 'products', 'voucher', 'resolution']

const escapeText = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;')

/**
 * Draws the CPU time of a request, Node's and Postgres' end to end, for each kind of answer.
 *
 * @returns an SVG that can be read on light and on dark ground
 */
export function drawPlot(calls: Call[], results: Results): string {
  const parts: string[] = []
  let y = 24
  for (const call of calls.filter(({ name }) => drawn.includes(name))) {
    parts.push(`<text class="title" x="0" y="${y}">${escapeText(call.title)}</text>`)
    y += 12
    const bars = [...(results.get(call.name) ?? [])]
      .filter(([name]) => name !== 'rest again')
      .map(([name, figures]) => ({ name, ...medians(figures) }))
    const longest = Math.max(...bars.map(({ node, postgres }) => node + postgres))
    const scale = (width - left - right) / longest
    for (const { name, node, postgres } of bars) {
      parts.push(drawBar(name, node, postgres, scale, y))
      y += step
    }
    y += 34
  }
  const legend = y - 14
  parts.push(
    `<rect class="node" x="${left}" y="${legend - 11}" width="12" height="12"/>`,
    `<text x="${left + 18}" y="${legend}">Node</text>`,
    `<rect class="postgres" x="${left + 80}" y="${legend - 11}" width="12" height="12"/>`,
    `<text x="${left + 98}" y="${legend}">PostgreSQL: µs of CPU time a request, less is better</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" role="img" aria-label="CPU time of a request, for each contender">
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600 }
.node { fill: #1f6feb }
.postgres { fill: #9a6ddb }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .node { fill: #58a6ff } .postgres { fill: #bc9cf0 } }
</style>
${parts.join('\n')}
</svg>
`
}

const medians = (figures: Figures[]) => ({
  node: median(figures.map(({ node }) => node)),
  postgres: median(figures.map(({ postgres }) => postgres)),
})

function drawBar(name: string, node: number, postgres: number, scale: number, y: number): string {
  const base = y + barHeight - 4
  const [nodeWidth, postgresWidth] = [node * scale, postgres * scale]
  const end = left + nodeWidth + postgresWidth
  return `<text x="${left - 10}" y="${base}" text-anchor="end">${escapeText(name)}</text>
<rect class="node" x="${left}" y="${y}" width="${nodeWidth.toFixed(1)}" height="${barHeight}"/>
<rect class="postgres" x="${(left + nodeWidth).toFixed(1)}" y="${y}" width="${postgresWidth.toFixed(1)}" height="${barHeight}"/>
<text x="${(end + 8).toFixed(1)}" y="${base}">${Math.round(node)} + ${Math.round(postgres)}</text>`
}
