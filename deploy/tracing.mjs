// Starts the OpenTelemetry SDK before the service: NODE_OPTIONS='--import /opt/tracing/tracing.mjs' (docs/operations.md).
import { NodeSDK } from '@opentelemetry/sdk-node'

const sdk = new NodeSDK()
sdk.start()
// Sends the spans of the last requests.
process.once('beforeExit', () => sdk.shutdown())
