import { Command } from 'commander'
import { exportMapping } from '../../adoption/folder.ts'
import { withDatabase } from '../database/database.ts'
import { jsonOption, printResult } from '../terminal/output.ts'
import { shellCommand } from '../terminal/shell-command.ts'

export const exportCommand = new Command('export')
  .description('Write the installed mapping into a folder, so that there is a way back to it.')
  .argument('<folder>', 'the folder to write; no file in it is overwritten')
  .addOption(jsonOption())
  .action(async (folder: string, { json }: { json: boolean }) => {
    const exported = await withDatabase(({ owner }) => exportMapping(owner, folder))
    const apply = shellCommand(`adopt apply ${folder} --search-path '${exported.path}'`)
    printResult(json, { folder, ...exported }, `${exported.files.join('\n')}\nTo install it again: ${apply}`)
  })
