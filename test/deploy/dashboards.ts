/** Reads the dashboards of `deploy/grafana`, with the part of Grafana's format that the panels use. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const place = z.strictObject({ x: z.int(), y: z.int(), w: z.int(), h: z.int() })
const source = z.strictObject({ type: z.literal('prometheus'), uid: z.string().regex(/^\$\{datasource\}$/) })

const Row = z.strictObject({ id: z.int(), type: z.literal('row'), title: z.string(), gridPos: place })

const Text = z.string()
const instant = z.literal(true).optional()
const Target = z.strictObject({ refId: Text, expr: Text, legendFormat: Text.optional(), instant })

const Panel = z.strictObject({
  id: z.int(),
  type: z.enum(['timeseries', 'stat']),
  title: z.string(),
  description: z.string(),
  datasource: source,
  gridPos: place,
  fieldConfig: z.object({ defaults: z.object({ unit: z.enum(['s', 'bytes', 'short', 'reqps', 'percentunit']) }) }),
  targets: z.array(Target).min(1),
})

const Dashboard = z.object({
  uid: z.string(),
  title: z.string(),
  templating: z.object({ list: z.array(z.object({ name: z.string(), type: z.string() })) }),
  panels: z.array(z.discriminatedUnion('type', [Row, Panel])),
})

const folder = join(import.meta.dirname, '../../deploy/grafana')

export const dashboards = readdirSync(folder)
  .filter(file => file.endsWith('.json'))
  .map(file => Dashboard.parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))))
