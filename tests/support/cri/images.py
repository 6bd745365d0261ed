"""Rows: images, pulled from a registry on loopback."""
import concurrent.futures
import uuid

from cri.client import grpc
from cri.specs import Skip, spec


def repositories(world):
    """By the world's registry: one image under three tags, two more, and who pushed them."""
    port = world.place.get("port")
    if port is None:
        raise Skip("no registry: docker-registry is missing, run packaging/dev deps")
    return f"127.0.0.1:{port}", f"localhost:{port}"


def pull(world, name):
    return world.cri.PullImage(image={"image": name}).image_ref


def status(world, name):
    found = world.cri.ImageStatus(image={"image": name})
    return found.image if found.HasField("image") else None


def remove(world, name):
    world.cri.RemoveImage(image={"image": name})


def pulled_and_removed(world, name):
    remove(world, name)
    pull(world, name)
    told = status(world, name)
    assert told is not None and told.id and told.size > 0, told
    remove(world, name)
    assert status(world, name) is None


@spec("Image Manager: public image with tag should be pulled and removed", alone=True)
def with_tag(world):
    pulled_and_removed(world, f"{repositories(world)[0]}/first:a")


@spec("Image Manager: public image without tag should be pulled and removed", alone=True)
def without_tag(world):
    pulled_and_removed(world, f"{repositories(world)[0]}/first")


@spec("Image Manager: public image with digest should be pulled and removed", alone=True)
def with_digest(world):
    pulled_and_removed(world, f"{repositories(world)[0]}/first@{world.place['digest']}")


@spec("Image Manager: an image that nobody has is refused", alone=True)
def nobody_has(world):
    try:
        pull(world, f"{repositories(world)[0]}/nobody:a")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.NOT_FOUND, error
        return
    raise AssertionError("it was pulled")


@spec("Image Manager: image status should support all kinds of references", alone=True)
def references(world):
    where = f"{repositories(world)[0]}/first"
    identity = pull(world, f"{where}:a")
    told = status(world, f"{where}:a")
    for name in (told.id, identity, *told.repo_tags, *told.repo_digests):
        assert status(world, name).id == told.id, name
    remove(world, f"{where}:a")


@spec("Image Manager: image status get image fields should not have Uid|Username empty", alone=True)
def user(world):
    where = repositories(world)[0]
    for name, uid, username in (("second", 1002, ""), ("third", None, "app")):
        pull(world, f"{where}/{name}:a")
        told = status(world, f"{where}/{name}:a")
        assert (told.uid.value if told.HasField("uid") else None, told.username) == (uid, username), told
        remove(world, f"{where}/{name}:a")


@spec("Image Manager: listImage should get exactly 3 image in the result list", alone=True)
def three_images(world):
    where = repositories(world)[0]
    names = {f"{where}/{name}:a" for name in ("first", "second", "third")}
    for name in names:
        pull(world, name)
    listed = [one for one in world.cri.ListImages().images if names & set(one.repo_tags)]
    assert len(listed) == 3, listed
    for name in names:
        remove(world, name)


def three_tags(world):
    where = repositories(world)[0]
    names = [f"{where}/first:{tag}" for tag in ("a", "b", "latest")]
    for name in names:
        pull(world, name)
    return names


@spec("Image Manager: listImage should get exactly 3 repoTags in the result image", alone=True)
def tags_in_list(world):
    names = three_tags(world)
    listed = [one for one in world.cri.ListImages().images if set(names) & set(one.repo_tags)]
    assert len(listed) == 1 and set(listed[0].repo_tags) == set(names), listed
    remove(world, names[0])


@spec("Image Manager: removing image by one tag should remove all tags", alone=True)
def remove_all_tags(world):
    names = three_tags(world)
    remove(world, names[1])
    assert not [name for name in names if status(world, name)]


@spec("Image Manager: removing image from one registry should remove all tags from other registries", alone=True)
def remove_everywhere(world):
    names = [f"{where}/first:a" for where in repositories(world)]
    identities = {pull(world, name) for name in names}
    assert len({status(world, name).id for name in names}) == 1 and identities
    remove(world, names[0])
    assert not [name for name in names if status(world, name)]


@spec("Image consistency: should not fail on simultaneous RemoveImage calls", alone=True)
def removed_at_once(world):
    name = f"{repositories(world)[0]}/first:a"
    pull(world, name)
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        for future in [pool.submit(remove, world, name) for _ in range(10)]:
            future.result()
    assert status(world, name) is None


@spec("Image ID consistency: should return the same image identifier across all APIs", alone=True)
def same_identity(world):
    name = f"{repositories(world)[0]}/first:a"
    pull(world, name)
    told = status(world, name)
    container = world.status(world.sandbox().start(image=name))
    # Versions before the CRI's field of that name leave it empty.
    assert container.image_id in ("", told.id) and container.image_ref in (told.id, *told.repo_digests), container
    assert [one.id for one in world.cri.ListImages().images if name in one.repo_tags] == [told.id]
    world.close()
    world.sandboxes.clear()
    remove(world, name)


@spec("Image Manager: the file system of images is told")
def file_system(world):
    told = world.cri.ImageFsInfo().image_filesystems
    assert told and told[0].fs_id.mountpoint, told


@spec("idempotence: RemoveImage should not return an error if not found")
def remove_nobody(world):
    for _ in range(2):
        remove(world, "0" * 64)
    assert status(world, f"nobody.test/{uuid.uuid4()}") is None
