import type { FeatureCollection } from 'geojson';
import { useMemo, useState } from 'react';
import { toFeatures as toGeofenceFeatures } from '../../common/geofences/model.ts';
import { focusMarks, useShape, widthOf } from '../../common/places/use-shape.ts';
import { toFeatures as toRouteFeatures } from '../../common/routes/model.ts';
import type { Preview } from '../../common/routes/preview.ts';
import type { Edit } from './search.ts';

/** Returns the shape that the live map and a form change together. */
export function usePlaceEditing(edit: Edit | undefined) {
  const editing = useShape();
  const [preview, setPreview] = useState<Preview | null>(null);
  const { shape, drawing, actions } = editing;
  const isRoute = edit?.kind === 'route';
  const features = useMemo(
    () =>
      isRoute
        ? toRouteFeatures([], null, preview?.path ?? null, preview?.color ?? '')
        : toGeofenceFeatures([], null, shape),
    [isRoute, preview, shape],
  );
  const edited = {
    features,
    marks: [...(preview?.marks ?? []), ...focusMarks(editing)],
    shape,
    drawing,
    widthM: isRoute ? null : widthOf(drawing),
    onShape: actions.set,
  };
  const editedId = shape === null && preview === null ? null : (edit?.id ?? null);
  return { editing, edited, editedId, setPreview };
}

/** Returns the places without the one whose shape has handles. */
export const useOthers = (places: FeatureCollection, editedId: number | null): FeatureCollection =>
  useMemo(
    () =>
      editedId === null
        ? places
        : { ...places, features: places.features.filter(({ properties }) => properties?.['id'] !== editedId) },
    [places, editedId],
  );
