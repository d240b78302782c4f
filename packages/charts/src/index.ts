export { type AxisLabel, type Bar, BarPlot, Legend, type Series } from './bar-plot.tsx'
export { sum, ticksFor } from './ticks.ts'
