import { describe, expect, it } from '@jest/globals';
import { FleetColumns } from '../../common/live/fleet-columns.ts';
import { flag, vehicleStates } from '../../common/live/protocol.ts';
import { formatPlace, parsePlace } from '../../common/map/map-place.ts';
import { boundsOfPlace, findNearest, toGeofenceFeatures } from './model.ts';
import { formatEdit, formatOverlays, parseEdit, parseMapSearch, parseOverlays } from './search.ts';

describe('the nearest vehicles to a place', () => {
  it('are sorted by distance, without those that are offline or have no position', () => {
    const columns = new FleetColumns();
    const add = (slot: number, latitude: number, state: (typeof vehicleStates)[number], flags: number): void => {
      columns.reserve(slot);
      columns.latitude[slot] = latitude;
      columns.state[slot] = vehicleStates.indexOf(state);
      columns.flags[slot] = flags;
    };
    const located = flag.isPresent | flag.hasPosition;
    add(0, 3, 'moving', located);
    add(1, 1, 'offline', located);
    add(2, 2, 'stopped', located);
    add(3, 0, 'moving', flag.isPresent);
    const found = findNearest(columns, [0, 0], 5);
    expect(found.map(({ slot }) => slot)).toEqual([2, 0]);
    expect(found[0]?.distanceM).toBeCloseTo(222_390, -2);
  });
});

it('a geofence that is opened from the menu has bounds', () => {
  const geojson = {
    type: 'Feature',
    geometry: {
      type: 'Polygon',
      coordinates: [
        [
          [76, 10],
          [77, 10],
          [77, 11.5],
          [76, 10],
        ],
      ],
    },
  };
  const geofences = toGeofenceFeatures([{ id: 7, name: 'Yard', color: null, geojson }] as never);
  const routes = { type: 'FeatureCollection' as const, features: [] };
  expect(boundsOfPlace({ kind: 'geofence', id: 7 }, geofences, routes)).toEqual([76, 10, 77, 11.5]);
  expect(boundsOfPlace({ kind: 'route', id: 7 }, geofences, routes)).toBeNull();
});

describe('the address of the map', () => {
  it('keeps valid values and drops the others', () => {
    const search = {
      vehicle: 7,
      state: 'alarm',
      group: 3,
      q: 12,
      sort: 'age',
      follow: true,
      at: '10.5,76.25,12',
      layers: 'routes',
      near: '10.5,76.25',
    };
    expect(parseMapSearch(search)).toEqual({ ...search, q: '12' });
    expect(
      parseMapSearch({ vehicle: -1, state: 'flying', q: '', sort: 'state', follow: 'yes', at: '91,0,3', near: '1' }),
    ).toEqual({});
  });

  it('names the layers only if they differ from the default', () => {
    expect(parseOverlays(undefined)).toEqual(['geofences', 'labels']);
    expect(formatOverlays(['labels', 'geofences'])).toBeUndefined();
    expect(formatOverlays([])).toBe('none');
    expect(parseOverlays('none')).toEqual([]);
    expect(parseMapSearch({ layers: 'geofences,labels' })).toEqual({});
  });

  it('has the place of the map to about a metre', () => {
    const place = parsePlace('10.01523,76.34121,12.50');
    expect(place).toEqual({ latitude: 10.01523, longitude: 76.34121, zoom: 12.5 });
    expect(place && formatPlace(place)).toBe('10.01523,76.34121,12.50');
  });

  it('names the place that is drawn or changed', () => {
    for (const text of ['geofence.7', 'geofence.circle', 'route.new', 'route.12']) {
      const edit = parseEdit(text);
      expect(edit && formatEdit(edit)).toBe(text);
    }
    expect(parseEdit('geofence.circle')).toEqual({ kind: 'geofence', id: null, shape: 'circle' });
    expect(parseEdit('driver.1')).toBeUndefined();
    expect(parseMapSearch({ edit: 'geofence.-1' })).toEqual({});
  });
});
