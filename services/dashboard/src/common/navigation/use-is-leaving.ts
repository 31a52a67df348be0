import { useRouter } from '@tanstack/react-router';

/**
 * Returns a function that checks whether the user has chosen another page that is still loading. A page that then
 * changes its own address late would take the user back.
 */
export function useIsLeaving(): () => boolean {
  const router = useRouter();
  return () => {
    const { resolvedLocation } = router.state;
    return resolvedLocation !== undefined && resolvedLocation.pathname !== router.latestLocation.pathname;
  };
}
