import { waitFor } from '@fleet/testing';
import { type ProductHarness, type TerminalSetup, uniquePhone } from './harness.ts';
import type { PlatformClient, PlatformRecord } from './platform-client.ts';
import { type Clip, UploadCamera } from './upload-camera.ts';

/** State of a conversion to MP4, as in a download. */
export interface Mp4State {
  readonly status: 'queued' | 'running' | 'completed' | 'failed' | 'canceled';
  readonly percent: number;
  readonly url: string | null;
  readonly size_bytes: number | null;
  readonly error: string | null;
}

/** Returns the conversion of a download; null if none was requested. */
export const readMp4 = (download: PlatformRecord): Mp4State | null => download['mp4'] as Mp4State | null;

/** A camera that uploads clips, with its vehicle and the downloads that users see of it. */
export class DownloadCamera {
  readonly vehicleId: number;
  readonly camera: UploadCamera;
  readonly #client: PlatformClient;

  private constructor(client: PlatformClient, vehicleId: number, camera: UploadCamera) {
    this.#client = client;
    this.vehicleId = vehicleId;
    this.camera = camera;
  }

  static async create(
    harness: ProductHarness,
    client: PlatformClient,
    setup: TerminalSetup = {},
  ): Promise<DownloadCamera> {
    const phone = uniquePhone();
    const { id } = await client.requestData('/vehicles', { vehicle_no: `L ${phone.slice(-12)}`, imei: phone });
    return new DownloadCamera(client, Number(id), await UploadCamera.start(harness, { ...setup, phone }));
  }

  /** Uploads a clip completely and returns its id. */
  async upload(clip: Clip): Promise<string> {
    const id = await this.camera.upload(clip);
    await this.camera.waitForStatus(id, 'completed');
    return id;
  }

  list(): Promise<PlatformRecord[]> {
    return this.#client.listAll(`/user/downloaded-dashcam-videos?vehicle_id=${this.vehicleId}`);
  }

  /** Waits until a download is as described; the newest one without an id. */
  waitFor(isReached: (download: PlatformRecord) => boolean, what: string, id?: string): Promise<PlatformRecord> {
    return waitFor(
      async () => {
        // A killed process is unavailable for a moment.
        const found = await this.list().catch(() => []);
        const download = id === undefined ? found[0] : found.find(({ video_id: each }) => each === id);
        return download !== undefined && isReached(download) && download;
      },
      what,
      60_000,
    );
  }

  /** Waits for a state of a conversion. */
  async waitForMp4(id: string, isReached: (mp4: Mp4State) => boolean, what: string): Promise<Mp4State> {
    const hasReached = (download: PlatformRecord): boolean => {
      const mp4 = readMp4(download);
      return mp4 !== null && isReached(mp4);
    };
    return readMp4(await this.waitFor(hasReached, what, id)) as Mp4State;
  }
}
