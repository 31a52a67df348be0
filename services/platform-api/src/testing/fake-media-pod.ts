import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Bus, locateClip, removeMediaFile, removeUploadFiles, serveUseCase } from '@fleet/bus';

/** Id of the fake upload-ftp pod. */
export const mediaPodId = 'test-ftp';

/** A fake upload-ftp pod, whose responses the test specifies. */
export interface FakeMediaPod {
  readonly id: string;
  readonly requests: IncomingMessage[];
  /** Ids of the files and uploads that were removed. */
  readonly removed: string[];
  /** Requests to remove files. */
  readonly fileRequests: { readonly imei: string; readonly fileId: string; readonly storedBeforeMs?: number }[];
  /** False: requests to remove files fail. */
  isRemoving: boolean;
  respond: (request: IncomingMessage, response: ServerResponse) => void;
  close(): Promise<void>;
}

export async function openFakeMediaPod(bus: Bus, id: string): Promise<FakeMediaPod> {
  const server = createServer((request, response) => {
    pod.requests.push(request);
    pod.respond(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const httpUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = { queue: 'test', onError: () => undefined };
  const remove = async (what: string): Promise<Record<string, never>> => {
    if (!pod.isRemoving) throw new Error('disk');
    pod.removed.push(what);
    return {};
  };
  const served = [
    serveUseCase(bus, locateClip(id), options, async () => ({ httpUrl })),
    serveUseCase(bus, removeMediaFile(id), options, (request) => {
      pod.fileRequests.push(request);
      return remove(request.fileId);
    }),
    serveUseCase(bus, removeUploadFiles(id), options, ({ uploadId }) => remove(uploadId)),
  ];
  await bus.nc.flush();
  const pod: FakeMediaPod = {
    id,
    requests: [],
    removed: [],
    fileRequests: [],
    isRemoving: true,
    respond: (_request, response) => void response.writeHead(404).end(),
    close: async () => {
      await Promise.all(served.map((each) => each.stop()));
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return pod;
}
