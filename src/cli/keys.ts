import { Command } from 'commander'
import { readConfig } from '../config/config.ts'
import { badInput } from '../domain/errors.ts'
import { leadSeconds, maxAgeSeconds, rotateKeys } from '../domain/record/signing-key.ts'
import { withDatabase } from './database/database.ts'
import { commandLineActor } from './terminal/actor.ts'
import { jsonOption, printResult } from './terminal/output.ts'

const rotateCommand = new Command('rotate')
  .description(
    'Add a key that signs redemption tokens. The former ones stay published until their last token has ended.',
  )
  .option('--lost', 'the former keys are no longer secret: remove them, and sign with the new key at once', false)
  .addOption(jsonOption())
  .addHelpText('after', '\nExample:\n  keys rotate')
  .action(async ({ lost, json }: { lost: boolean; json: boolean }) => {
    const config = readConfig(process.env)
    if (config.redemption.keys)
      throw badInput({ key: ['REDEMPTION_KEYS has the keys. Add the new one there (docs/maintaining.md).'] })
    const kid = await withDatabase(({ pool }) => rotateKeys(pool, commandLineActor(), lost), config)
    const signsIn = lost ? 0 : leadSeconds
    const when = lost
      ? 'at each instance within 5 seconds. Redemptions refuse tokens of the former keys when their cached key set ends, ' +
        `within ${maxAgeSeconds / 60} minutes: after a theft, restart the redemptions`
      : `in ${leadSeconds / 60} minutes`
    const sentence = `The key ${kid} is added. It signs redemption tokens ${when}.`
    printResult(json, { kid, signs_in_seconds: signsIn }, sentence)
  })

export const keysCommand = new Command('keys')
  .description('Rotate the keys that sign redemption tokens.')
  .addCommand(rotateCommand)
