import { Button, SegmentedControl } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../common/fleet/queries.ts';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import { useCan } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { Empty, Failure, Loading } from '../../common/ui/states.tsx';
import { VideoTile } from '../../common/video/tile.tsx';
import { CameraList } from './parts/camera-list.tsx';
import { type Camera, formatTiles, type Layout, layoutFor, layouts, parseTiles, type VideoSearch } from './search.ts';
import './video.css';

const route = getRouteApi('/app/video');
const defaultLayout = 4;

const isSame = (one: Camera | null, other: Camera): boolean =>
  one?.vehicleId === other.vehicleId && one.channelId === other.channelId;

/**
 * Shows a wall of 1, 4, 9 or 16 cameras: sub streams in the grid, the main stream in a single tile, one tile with
 * sound.
 */
export function VideoPage() {
  const { t } = useTranslation('video');
  const vehicles = useVehicles();
  const wall = useWall();
  const can = useCan();
  const [audible, setAudible] = useState<number | null>(null);
  if (!can('video')) return <NoPermission />;
  if (vehicles.isPending) return <Loading />;
  if (vehicles.isError) return <Failure error={vehicles.error} onRetry={() => void vehicles.refetch()} />;
  return (
    <div className="video-page">
      <h1 className="visually-hidden">{t('title')}</h1>
      <div className="video-bar">
        <SegmentedControl
          size="xs"
          aria-label={t('layout')}
          value={String(wall.layout)}
          data={layouts.map(String)}
          onChange={(value) => wall.setLayout(Number(value) as Layout)}
        />
        <Button size="xs" variant="default" onClick={wall.clear}>
          {t('stopAll')}
        </Button>
      </div>
      <div className="video-wall" data-layout={wall.layout}>
        {wall.cameras.map((camera, index) =>
          camera === null ? (
            // Tiles are positions: the index is their identity.
            <div className="tile" key={`empty-${index}`}>
              <Empty title={t('emptyTile')} />
            </div>
          ) : (
            <VideoTile
              key={`${camera.vehicleId}.${camera.channelId}`}
              {...camera}
              title={titleOf(vehicles.data, camera)}
              streamType={wall.layout === 1 ? 'HIGH' : 'LOW'}
              isMuted={audible !== index}
              onMute={(isMuted) => setAudible(isMuted ? null : index)}
              onClose={() => wall.remove(camera)}
              {...(wall.layout === 1 ? {} : { onFocus: () => wall.focus(camera) })}
            />
          ),
        )}
      </div>
      <CameraList
        vehicles={vehicles.data}
        isVisible={(camera) => wall.cameras.some((visible) => isSame(visible, camera))}
        onToggle={wall.toggle}
      />
    </div>
  );
}

function titleOf(vehicles: readonly Vehicle[], { vehicleId, channelId }: Camera): string {
  const vehicle = vehicles.find(({ id }) => id === vehicleId);
  const channel = vehicle?.channels.find(({ channel_id: id }) => id === channelId);
  return `${vehicle?.name ?? vehicleId} · ${channel?.name ?? channelId}`;
}

/** Returns the cameras of the wall, which are in the address, and functions that change them. */
function useWall() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const all = parseTiles(search.tiles, 16);
  const used = all.filter((camera) => camera !== null);
  const layout = search.layout ?? (used.length > defaultLayout ? layoutFor(used.length) : defaultLayout);
  const show = (cameras: readonly (Camera | null)[], next: Layout = layout): void => {
    const tiles = formatTiles(cameras.slice(0, next));
    const changed: VideoSearch = { ...(tiles === undefined ? {} : { tiles }), layout: next };
    void navigate({ search: changed, replace: true });
  };
  const remove = (camera: Camera): void => show(all.map((visible) => (isSame(visible, camera) ? null : visible)));
  const add = (camera: Camera): void => {
    const free = all.findIndex((visible) => visible === null);
    const cameras = all.map((visible, index) => (index === free ? camera : visible));
    show(cameras, free < layout ? layout : layoutFor(free + 1));
  };
  return {
    layout,
    cameras: all.slice(0, layout),
    setLayout: (next: Layout) => show([...used, ...Array.from({ length: 16 }, () => null)], next),
    clear: () => show([]),
    remove,
    toggle: (camera: Camera) => (all.some((visible) => isSame(visible, camera)) ? remove(camera) : add(camera)),
    focus: (camera: Camera) => show([camera], 1),
  };
}
