/**
 * Loaded before the service's own code (`node --import`): writes each script that V8 compiles to the file SCRIPT_LOG, one
 * JSON text per line. The URL of a script compiled from text (`eval`, `new Function`, `vm`) is not a file.
 */
import { appendFileSync } from 'node:fs'
import { Session } from 'node:inspector'

const { SCRIPT_LOG: log } = process.env
if (log === undefined) throw new Error('SCRIPT_LOG must be the path of a file.')
const session = new Session()
session.connect()
session.on('Debugger.scriptParsed', ({ params: { url, stackTrace } }) => {
  const compiledBy = stackTrace?.callFrames.find(frame => frame.url !== '')?.url ?? ''
  appendFileSync(log, `${JSON.stringify({ url, compiledBy })}\n`)
})
session.post('Debugger.enable')
