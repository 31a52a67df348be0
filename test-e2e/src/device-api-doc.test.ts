import { describeDocumentedCommands } from './testing/documented-commands.ts';

// The rest of the document is tested by services/device-api/src/partner-document.test.ts.
describeDocumentedCommands({ document: 'docs/device-api.md', minSteps: 30, timeoutMs: 120_000 });
