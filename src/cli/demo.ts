import { SingleBar } from 'cli-progress'
import { Command } from 'commander'
import { loadDemo } from '../demo/load.ts'
import { withDatabase } from './database/database.ts'
import { jsonOption, printResult, readNumber } from './terminal/output.ts'

const readScale = readNumber(/^[1-9]\d{0,4}$/, 'Expected a whole number from 1 to 99999, for example 10.')

export const demoCommand = new Command('demo')
  .description('Load demo data into an empty, migrated database.')
  .option('--scale <n>', 'amount of data: 1 means about 4,000 vouchers, 1000 about 4 million', readScale, 1)
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  demo --scale 10')
  .action(async (options: { scale: number; json: boolean }) => {
    const bar =
      process.stdout.isTTY && !options.json
        ? new SingleBar({ format: 'loading {bar} {percentage}% | {value}/{total} rows | {eta_formatted} left' })
        : null
    const loaded = await withDatabase(async ({ owner }) => {
      try {
        return await loadDemo(owner, {
          scale: options.scale,
          onProgress: (done, total) => {
            if (bar?.isActive) bar.update(done)
            else bar?.start(total, done)
          },
        })
      } finally {
        bar?.stop()
      }
    })
    const counts = Object.entries(loaded).map(([what, count]) => `${count.toLocaleString('en')} ${what}`)
    printResult(options.json, loaded, `Loaded ${counts.join(', ')}.`)
  })
