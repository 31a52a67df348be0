import { publish, uploadChanged, uploadSubject } from '@fleet/bus';
import { driverReport, queryAttributesResponse, terminalRegistration } from '@fleet/jt808';
import { createReservation } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { newImei } from '../testing/fake-terminals.ts';
import { lastLocationAt, writeLastLocation } from '../testing/last-location.ts';
import { LiveEventRecorder } from '../testing/live-event-recorder.ts';
import { type Client, type Data, PlatformHarness } from '../testing/platform-harness.ts';
import { publishTerminalMessage } from '../testing/terminal-messages.ts';
import { raiseDocumentExpiry } from './raise-document-expiry.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(90_000);

describe('events other than locations', () => {
  let harness: PlatformHarness;
  let api: Client;
  let liveEvents: LiveEventRecorder;
  let count = 0;

  beforeAll(async () => {
    harness = await PlatformHarness.open({ PLATFORM_ROLES: 'api,websocket,telemetry' });
    api = harness.as(harness.ours.owner);
    liveEvents = new LiveEventRecorder(harness);
  });
  afterAll(async () => {
    liveEvents.stop();
    await harness.close();
  });

  const newVehicle = async (): Promise<{ id: number; imei: string }> => {
    const imei = newImei();
    count += 1;
    const made = await api.post('/api/vehicles', { vehicle_no: `EVENT${count}`, imei });
    expect(made.status).toBe(201);
    await writeLastLocation(harness.deps, lastLocationAt(imei, 22.5, 114.1));
    return { id: made.data.id, imei };
  };
  const notificationsOf = async (vehicleId: number, type: string): Promise<readonly Data[]> =>
    (await api.get(`/api/notifications?type=${type}&limit=100`)).items.filter(({ vehicle_id: id }) => id === vehicleId);
  const raised = async (vehicleId: number, type: string, atLeast = 1): Promise<readonly Data[]> => {
    await waitFor(async () => (await notificationsOf(vehicleId, type)).length >= atLeast);
    return notificationsOf(vehicleId, type);
  };
  const card = (certificateNo: string, more: { status?: number; time?: string; cardReadResult?: number } = {}) => ({
    status: 1,
    time: '2026-01-31T10:00:00',
    cardReadResult: 0,
    driverName: 'Li',
    certificateNo,
    issuer: '',
    validUntil: null,
    ...more,
  });

  describe('driver cards (0x0702)', () => {
    it('ignore cards inserted before the terminal was assigned', async () => {
      const { id, imei } = await newVehicle();
      const driver = await api.post('/api/drivers', { name: 'Own', card_number: 'CARD-0' });
      const early = { receivedAtMs: Date.now() - 60_000 };
      await publishTerminalMessage(harness, imei, driverReport, card('FOREIGN'), early);
      await publishTerminalMessage(harness, imei, driverReport, card('CARD-0', { time: '2026-01-31T10:05:00' }));
      expect((await raised(id, 'driver_change')).map(({ driver_id: driverId }) => driverId)).toEqual([driver.data.id]);
    });

    it('open a session, close the previous one, and create one notification', async () => {
      const { id, imei } = await newVehicle();
      const [first, second] = [
        await api.post('/api/drivers', { name: 'First', card_number: 'CARD-1' }),
        await api.post('/api/drivers', { name: 'Second', card_number: 'CARD-2' }),
      ];
      await publishTerminalMessage(harness, imei, driverReport, card('CARD-1'));
      await raised(id, 'driver_change');
      await publishTerminalMessage(harness, imei, driverReport, card('CARD-1', { time: '2026-01-31T10:05:00' }));
      await publishTerminalMessage(harness, imei, driverReport, card('CARD-2', { time: '2026-01-31T11:00:00' }));
      const found = await raised(id, 'driver_change', 2);
      expect(found.map(({ driver_id: driverId, timestamp }) => [driverId, timestamp])).toEqual([
        [second.data.id, Date.parse('2026-01-31T03:00:00Z')],
        [first.data.id, Date.parse('2026-01-31T02:00:00Z')],
      ]);
      expect(found[0]).toMatchObject({
        location: { latitude: 22.5, longitude: 114.1 },
        attributes: { card_number: 'CARD-2', driver_name: 'Second', previous_driver_id: first.data.id },
      });
      await waitFor(async () => (await api.get(`/api/vehicles/${id}`)).data['driver_id'] === second.data.id);
      const current = async (driverId: number) =>
        (await api.get(`/api/drivers/${driverId}`)).data['current_vehicle_id'];
      await waitFor(async () => (await current(second.data.id)) === id);
      expect(await current(first.data.id)).toBeNull();
    });

    it('that are unknown create a notification without a driver and end the session', async () => {
      const { id, imei } = await newVehicle();
      const driver = await api.post('/api/drivers', { name: 'Known', card_number: 'CARD-3' });
      await publishTerminalMessage(harness, imei, driverReport, card('CARD-3'));
      await raised(id, 'driver_change');
      await publishTerminalMessage(harness, imei, driverReport, card('STRANGE', { time: '2026-01-31T12:00:00' }));
      const [newest] = await raised(id, 'driver_change', 2);
      expect(newest).toMatchObject({ driver_id: null, attributes: { card_number: 'STRANGE', driver_name: 'Li' } });
      await waitFor(async () => (await api.get(`/api/vehicles/${id}`)).data['driver_id'] === null);
      await waitFor(async () => (await api.get(`/api/drivers/${driver.data.id}`)).data['current_vehicle_id'] === null);
    });

    it('that are removed end the session without a notification', async () => {
      const { id, imei } = await newVehicle();
      const driver = await api.post('/api/drivers', { name: 'Leaving', card_number: 'CARD-4' });
      await publishTerminalMessage(harness, imei, driverReport, card('CARD-4'));
      await waitFor(async () => (await api.get(`/api/drivers/${driver.data.id}`)).data['current_vehicle_id'] === id);
      const out = { status: 2, time: '2026-01-31T13:00:00' };
      await publishTerminalMessage(
        harness,
        imei,
        driverReport,
        out as Parameters<typeof publishTerminalMessage<typeof driverReport>>[3],
      );
      await waitFor(async () => (await api.get(`/api/drivers/${driver.data.id}`)).data['current_vehicle_id'] === null);
      expect(await notificationsOf(id, 'driver_change')).toHaveLength(1);
      expect((await api.get(`/api/vehicles/${id}`)).data['driver_id']).toBe(driver.data.id);
    });
  });

  it('stores terminal details of 0x0100 and 0x0107', async () => {
    const { id, imei } = await newVehicle();
    await publishTerminalMessage(harness, imei, terminalRegistration, {
      provinceId: 44,
      cityId: 300,
      manufacturerId: 'MAKER',
      terminalModel: 'CAM-9',
      terminalId: '0000042',
      plateColor: 1,
      plateNo: 'B12345',
    });
    const device = async () => (await api.get(`/api/vehicles/${id}`)).data['device'] as Record<string, unknown> | null;
    await waitFor(async () => (await device())?.['model'] === 'CAM-9');
    expect(await device()).toMatchObject({
      protocol: 'jt808-2013',
      manufacturer: 'MAKER',
      terminal_id: '0000042',
      iccid: null,
      connected: false,
    });
    await publishTerminalMessage(harness, imei, queryAttributesResponse, {
      terminalType: 1,
      manufacturerIdLength: 5,
      manufacturerId: 'MAKER',
      terminalModel: 'CAM-9',
      terminalId: '0000042',
      iccid: '8986001234567890123F',
      hardwareVersion: 'H1',
      firmwareVersion: 'F2.1',
      gnssAttributes: 1,
      communicationAttributes: 32,
    });
    await waitFor(async () => (await device())?.['firmware'] === 'F2.1');
    expect(await device()).toMatchObject({ manufacturer: 'MAKER', iccid: '8986001234567890123' });
  });

  describe('uploads', () => {
    const clip = (imei: string) => ({
      imei,
      channel: 3,
      startMs: Date.parse('2026-01-31T02:00:00Z'),
      endMs: Date.parse('2026-01-31T02:01:00Z'),
      mediaType: 0,
      streamType: 0,
      storageType: 0,
      alarmFlags: '0',
    });
    const change = (imei: string, uploadId: string, status: 'uploading' | 'completed' | 'failed' | 'cancelled') => ({
      uploadId,
      imei,
      channel: 3,
      status,
      filesize: 1000,
      filename: 'clip.h264',
      atMs: Date.parse('2026-01-31T03:00:00Z'),
    });

    it('of another account are not sent to the current owner of the terminal', async () => {
      const { id, imei } = await newVehicle();
      const reservation = { shownImei: imei, askedImei: imei, cameraUtcOffset: '+08:00', reservedUntilMs: 0 };
      const accountIds = [harness.theirs.accountId, harness.ours.accountId];
      const records = accountIds.map((accountId, index) => ({
        ...createReservation(clip(imei), { ...reservation, mobileNetwork: false, accountId }),
        status: 'completed' as const,
        number: index + 1,
      }));
      await harness.deps.database.collection<(typeof records)[number]>('uploads').insertMany(records);
      for (const { _id } of records)
        await harness.bus.js.publish(uploadSubject(_id, 'closed'), JSON.stringify(change(imei, _id, 'completed')));
      // In order: when the second arrives, the first was left out.
      await waitFor(async () => liveEvents.of('upload', id).length > 0);
      expect(liveEvents.of('upload', id)).toMatchObject([{ video_id: records[1]?._id }]);
      expect(await raised(id, 'video_upload_completed')).toHaveLength(1);
    });

    it.each([
      ['completed', 'video_upload_completed'],
      ['failed', 'video_upload_failed'],
    ] as const)('that have %s create a notification', async (status, type) => {
      const { id, imei } = await newVehicle();
      const reservation = { shownImei: imei, askedImei: imei, cameraUtcOffset: '+08:00', reservedUntilMs: 0 };
      const record = {
        ...createReservation(clip(imei), { ...reservation, mobileNetwork: false }),
        status,
        number: 1,
      };
      await harness.deps.database.collection<typeof record>('uploads').insertOne(record);
      const body = change(imei, record._id, status);
      await harness.bus.js.publish(uploadSubject(record._id, 'closed'), JSON.stringify(body));
      const [notification] = await raised(id, type);
      expect(notification).toMatchObject({
        timestamp: body.atMs,
        attributes: {
          video_id: record._id,
          channels: [3],
          filesize: 1000,
          video_start_time: '2026-01-31T10:00:00+08:00',
        },
      });
      await waitFor(async () => liveEvents.of('upload', id).length > 0);
      expect(liveEvents.of('upload', id)[0]).toMatchObject({ video_id: record._id, status, imei });
    });

    it('that progress reach websockets only', async () => {
      const { id, imei } = await newVehicle();
      const reservation = { shownImei: imei, askedImei: imei, cameraUtcOffset: '+08:00', reservedUntilMs: 0 };
      const record = {
        ...createReservation(clip(imei), { ...reservation, mobileNetwork: true, requestedBy: 7 }),
        status: 'uploading' as const,
        number: 1,
        filename: 'clip.h264',
        filesize: 500,
        expectedBytes: 2_000,
        bytesPerSecond: 100,
        lastByteAtMs: Date.now(),
      };
      const uploadId = record._id;
      await harness.deps.database.collection<typeof record>('uploads').insertOne(record);
      const body = change(imei, uploadId, 'uploading');
      await waitFor(async () => {
        publish(harness.bus, uploadChanged, body, uploadSubject(uploadId, 'progress'));
        return liveEvents.of('upload', id).length > 0;
      });
      expect(liveEvents.of('upload', id)[0]).toMatchObject({
        status: 'uploading',
        filename: 'clip.h264',
        vehicle_id: id,
        requested_by: 7,
        percent: 25,
        bytes_per_second: 100,
        seconds_left: 15,
        download_url: null,
        mp4: null,
      });
    });
  });

  it('publishes changes of a command, and one notification of a failure', async () => {
    const { id, imei } = await newVehicle();
    const made = await api.post(`/api/vehicles/${id}/commands`, { type: 'text', params: { text: 'Hello' } });
    expect(made.status).toBe(202);
    await waitFor(async () => liveEvents.of('command', id).length > 0);
    expect(liveEvents.of('command', id)[0]).toMatchObject({
      command_id: made.data['command_id'],
      imei,
      status: 'queued',
    });
    await harness.deps.database
      .collection<{ _id: number }>('commands')
      .updateOne({ _id: made.data.id }, { $set: { expiresAt: new Date(0) } });
    const [notification] = await raised(id, 'command_failed');
    expect(notification?.['attributes']).toMatchObject({
      command_id: made.data['command_id'],
      command_type: 'text',
      status: 'expired',
    });
    await waitFor(async () => liveEvents.of('command', id).some(({ status }) => status === 'expired'));
    expect(await notificationsOf(id, 'command_failed')).toHaveLength(1);
  });

  describe('licences', () => {
    const nowMs = Date.parse('2026-03-10T12:00:00Z');

    it.each([
      ['2026-04-09', 30],
      ['2026-03-17', 7],
      ['2026-03-10', 0],
      ['2026-03-12', 7],
      ['2026-03-25', 30],
    ])('that expire on %s create the notice of %i days once', async (date, notice) => {
      const { id } = await newVehicle();
      const body = { name: `Expiring ${date}`, vehicle_ids: [id], license_expiry_date: date };
      const driver = await api.post('/api/drivers', body);
      await raiseDocumentExpiry(harness.deps, nowMs);
      await raiseDocumentExpiry(harness.deps, nowMs + 3_600_000);
      const found = await notificationsOf(id, 'document_expiry');
      expect(found).toHaveLength(1);
      expect(found[0]).toMatchObject({
        driver_id: driver.data.id,
        attributes: { expiry_date: date, days_left: notice, driver_name: body.name },
      });
    });

    it.each(['2026-03-09', '2026-04-10', '2027-01-01'])('that expire on %s create none', async (date) => {
      const { id } = await newVehicle();
      await api.post('/api/drivers', { name: 'Quiet', vehicle_ids: [id], license_expiry_date: date });
      await raiseDocumentExpiry(harness.deps, nowMs);
      expect(await notificationsOf(id, 'document_expiry')).toEqual([]);
    });

    it('expire by the calendar of the account', async () => {
      await harness.deps.database
        .collection<{ _id: number }>('accounts')
        .updateOne({ _id: harness.ours.accountId }, { $set: { timezone: 'Pacific/Auckland' } });
      const { id } = await newVehicle();
      await api.post('/api/drivers', { name: 'South', vehicle_ids: [id], license_expiry_date: '2026-04-10' });
      // In Auckland it is already the 11th.
      await raiseDocumentExpiry(harness.deps, nowMs);
      expect(await notificationsOf(id, 'document_expiry')).toHaveLength(1);
    });
  });
});
