/** Describes the metrics, as `docs/metrics.md` has them. */
import { databaseRegistry, measureProcess, processRegistry } from '../src/metrics/registry.ts'

/** Returns `docs/metrics.md`. */
export async function toMetricsPage(): Promise<string> {
  const own = await toTable(processRegistry)
  const ofDatabase = await toTable(databaseRegistry)
  processRegistry.clear()
  measureProcess()
  return `# Metrics

With \`METRICS_PORT\` the service has its metrics at \`/metrics\` of that port, in the text format of Prometheus. Without it nothing is
measured. \`npm run generate\` writes this page. A series is absent until what it measures has happened, and while its value is not
known. No label has a text of a caller: an operation is that of a route (\`ListTenants\`, \`GraphQL\`, \`ExportTenants\`), or the path of
the route with the names of its parameters; a statement is named by its comment in
[schema/statements.sql](../schema/statements.sql).

## What the processes do

With \`--workers\`, one port has the sums of all workers. A worker that does not answer within two seconds counts as at the former
scrape, and what ended workers have counted stays.

${own}
## What the database has

These are read at each scrape, for at most a second, and are the same at each instance.

${ofDatabase}
## What Node measures

${await toTable(processRegistry)}`
}

async function toTable(registry: typeof processRegistry): Promise<string> {
  const described = await registry.getMetricsAsJSON()
  const rows = described.map(({ name, help, type }) => {
    const metric: object = registry.getSingleMetric(name) ?? {}
    const labels = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames : []
    const shown = labels.filter(label => label !== 'le').map(label => `\`${label}\``)
    return `| \`${name}\` | ${type} | ${shown.join(', ')} | ${help} |\n`
  })
  return `| Name | Type | Labels | |\n|---|---|---|---|\n${rows.join('')}`
}
