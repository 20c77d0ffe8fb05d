"""Descriptions of the named data sets: shape, task, licence, source, URL and digest."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from leakscope.data.datasets.dataset import Description, File

_UCI = "https://archive.ics.uci.edu"
_HOSPITALS = "296/diabetes+130-us+hospitals+for+years+1999-2008"
_SHOKRI_PAGE = "https://github.com/privacytrustlab/datasets"
_SHOKRI_PAPER = "R. Shokri, M. Stronati, C. Song, V. Shmatikov, IEEE S&P 2017"
_CIFAR: dict[str, Any] = {
    "record": (32, 32, 3),
    "classes": 100,
    "task": "object (100 classes in 20 superclasses)",
    "licence": "none stated; research use with citation is customary",
    "source": "A. Krizhevsky, technical report, University of Toronto, 2009",
    "page": "https://www.cs.toronto.edu/~kriz/cifar.html",
}
_SHA256 = "sha256 of the payload"
_SHAPE_ONLY = "no digest is published: numbers of rows, columns and classes, and every value 0 or 1"
_BUILT_IN = "comes with scikit-learn"


#: SHA-256 of the payload of each file that is checked by it.
_DIGESTS = {
    "adult/adult.data.gz": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult/adult.test.gz": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    "diabetes130/diabetic_data.csv.gz": "0689e7ec031237dc63031b938805c48377748761a3b26acab621567afa24df97",
    "location30/dataset_location.tgz": "2ca8f7fc231251e089823e44d39f2d1eed124574cc351c7f80368cfe631dd718",
    "mnist/train-images-idx3-ubyte.gz": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "mnist/train-labels-idx1-ubyte.gz": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "mnist/t10k-images-idx3-ubyte.gz": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "mnist/t10k-labels-idx1-ubyte.gz": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
_SHOKRI_HOSTS = (f"{_SHOKRI_PAGE}/raw/master/", "https://www.comp.nus.edu.sg/~reza/files/")
_MNIST_HOSTS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")


def _hosted(path: str, hosts: tuple[str, ...], *members: str) -> File:
    """Describe a file that several hosts have by its name, with the members of an archive to read."""
    urls = tuple(host + PurePosixPath(path).name for host in hosts)
    return File(path, urls=urls, members=members, digest=f"sha256:{_DIGESTS[path]}" if path in _DIGESTS else "")


def _uci_files(archive: str, *paths: str) -> tuple[File, ...]:
    """Describe gzip files, each made from the member of that name of a UCI zip archive."""
    urls = (f"{_UCI}/static/public/{archive}",)
    return tuple(
        File(path, urls=urls, zip_member=PurePosixPath(path).stem, digest=f"sha256:{_DIGESTS[path]}") for path in paths
    )


_KNOWN = (
    Description(
        name="adult",
        title="UCI Adult (Census Income)",
        rows=48_842,
        record=(14,),
        classes=2,
        task="income above 50,000 dollars",
        licence="CC BY 4.0",
        source="B. Becker, R. Kohavi, UCI Machine Learning Repository, 1996, doi:10.24432/C5XW20",
        page=f"{_UCI}/dataset/2/adult",
        check=_SHA256,
        preparations=("one-hot", "codes"),
        files=_uci_files("2/adult.zip", "adult/adult.data.gz", "adult/adult.test.gz"),
    ),
    Description(
        name="diabetes130",
        title="Diabetes 130-US hospitals, 1999-2008",
        rows=101_766,
        record=(47,),
        classes=3,
        task="readmission to hospital",
        licence="CC BY 4.0",
        source="B. Strack et al., BioMed Research International 2014, 781670, doi:10.24432/C5230J",
        page=f"{_UCI}/dataset/{_HOSPITALS}",
        check=_SHA256,
        preparations=("one-hot",),
        files=_uci_files(f"{_HOSPITALS}.zip", "diabetes130/diabetic_data.csv.gz"),
    ),
    Description(
        name="location30",
        title="Locations (Foursquare check-ins, Bangkok)",
        rows=5_010,
        record=(446,),
        classes=30,
        task="cluster of visitors",
        licence="none stated; published for research",
        source=f"{_SHOKRI_PAPER}; check-ins of D. Yang, D. Zhang, B. Qu, ACM TIST 2016",
        page=_SHOKRI_PAGE,
        check=_SHA256,
        files=(_hosted("location30/dataset_location.tgz", _SHOKRI_HOSTS, "bangkok"),),
    ),
    Description(
        name="purchase100",
        title="Purchases (Acquire Valued Shoppers)",
        rows=197_324,
        record=(600,),
        classes=100,
        task="cluster of shoppers",
        licence="terms of the Kaggle competition 'Acquire Valued Shoppers Challenge'",
        source=_SHOKRI_PAPER,
        page=_SHOKRI_PAGE,
        check=_SHAPE_ONLY,
        files=(_hosted("purchase100/dataset_purchase.tgz", _SHOKRI_HOSTS, "dataset_purchase"),),
    ),
    Description(
        name="texas100",
        title="Texas hospital stays",
        rows=67_330,
        record=(6_170,),
        classes=100,
        task="main procedure",
        licence="none stated; from the Texas hospital discharge public-use file",
        source=_SHOKRI_PAPER,
        page=_SHOKRI_PAGE,
        check=_SHAPE_ONLY,
        files=(_hosted("texas100/dataset_texas.tgz", _SHOKRI_HOSTS, "texas/100/feats", "texas/100/labels"),),
    ),
    Description(
        name="mnist",
        title="MNIST handwritten digits",
        rows=70_000,
        record=(28, 28),
        classes=10,
        task="digit",
        licence="CC BY-SA 3.0",
        source="Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Proc. IEEE 86, 1998",
        page="http://yann.lecun.com/exdb/mnist/",
        check=_SHA256,
        files=tuple(_hosted(path, _MNIST_HOSTS) for path in _DIGESTS if path.startswith("mnist/")),
    ),
    Description(
        name="cifar100",
        title="CIFAR-100",
        rows=60_000,
        **_CIFAR,
        check="md5 of the archive, the only digest the publisher gives; its pickles are read without running them",
        files=(
            File(
                "cifar100/cifar-100-python.tar.gz",
                urls=("https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",),
                members=("cifar-100-python/train", "cifar-100-python/test", "cifar-100-python/meta"),
                digest="md5:eb9058c3a382ffc7106e4002c42a8d85",
                digest_of="file",
            ),
        ),
    ),
    Description(
        name="cifar100_20k",
        title="CIFAR-100, a fixed subset of 20,000 images",
        rows=20_000,
        **_CIFAR,
        check="sha256 of the file, which only a mirror holds",
        files=(
            File(
                "cifar100/cifar100_20k.npz",
                digest="sha256:b3b81e292914d8eee518a99c515f032fd7e7250ca9146fa5a10c0679ba778338",
                digest_of="file",
            ),
        ),
    ),
    Description(
        name="dogfish",
        title="Dog against fish, Inception-v3 features of ImageNet pictures",
        rows=2_400,
        record=(2_048,),
        classes=2,
        task="dog (0) or fish (1)",
        licence="terms of ImageNet",
        source="P. W. Koh, P. Liang, ICML 2017",
        page="https://github.com/kohpangwei/influence-release",
        check="no digest is published: numbers of rows, columns and classes, and every value finite",
        files=tuple(
            File(f"dogfish/{name}", urls=(f"http://mitra.stanford.edu/kundaje/pangwei/{name}",), digest_of="file")
            for name in ("dogfish_900_300_inception_features_train.npz", "dogfish_900_300_inception_features_test.npz")
        ),
    ),
    Description(
        name="breast_cancer",
        title="Breast Cancer Wisconsin (Diagnostic)",
        rows=569,
        record=(30,),
        classes=2,
        task="malignant (0) or benign (1)",
        licence="CC BY 4.0",
        source="W. Wolberg, O. Mangasarian, N. Street, UCI Machine Learning Repository, 1995, doi:10.24432/C5DW2B",
        page=f"{_UCI}/dataset/17/breast+cancer+wisconsin+diagnostic",
        check=_BUILT_IN,
    ),
    Description(
        name="digits",
        title="Handwritten digits, 8 x 8 pixels",
        rows=1_797,
        record=(64,),
        classes=10,
        task="digit",
        licence="CC BY 4.0",
        source="E. Alpaydin, C. Kaynak, UCI Machine Learning Repository, 1998, doi:10.24432/C50P49",
        page=f"{_UCI}/dataset/80/optical+recognition+of+handwritten+digits",
        check=_BUILT_IN,
    ),
    Description(
        name="make_classification",
        title="Gaussian classes on the corners of a hypercube",
        rows=20_000,
        record=(20,),
        classes=2,
        task="corner; sizes are options",
        licence="made on this machine",
        source="scikit-learn, make_classification",
        page="https://scikit-learn.org/stable/modules/generated/sklearn.datasets.make_classification.html",
        check=_BUILT_IN,
    ),
)
DESCRIPTIONS: dict[str, Description] = {description.name: description for description in _KNOWN}
